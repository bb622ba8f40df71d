/** A restart that is carried out from the page: a real session, its phrase, another gateway, and what is shown of it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test, { describe } from 'node:test';
import { askInvitation, findDoors } from '../../src/web/door.ts';
import { gitConfig } from '../e2e/place.ts';
import { dirOf, live, readyPlace } from '../e2e/session.ts';
import { needs } from '../support/real.ts';
import { until } from '../support/until.ts';
import { hold, needsBrowser, openBrowser, openTab } from './browser.ts';
import { eventually, patience, press } from './still.ts';
import { visitor } from './support.ts';

describe('a restart from the page', needsBrowser(), () => {
  test(
    'a wrong phrase is refused; the right one gives another gateway, clean; one that was killed is unproven until then',
    {
      timeout: 240_000,
      ...needs('bubblewrap'),
    },
    async (t) => {
      const where = await readyPlace(t, 'bubblewrap');
      await where.writeConfig(
        `${gitConfig}up: { network: none }\nadmin: {}\nsupervisor: { restart: on-crash }\n`,
      );
      await live(t, 'bubblewrap', { where, up: ['--allow-restart'] });
      const link = async () => {
        const [door = ''] = await findDoors(where.env);
        const found = await askInvitation(door, 'operator');
        return found?.url ?? '';
      };
      const gateway = async () => {
        const text = await readFile(path.join(dirOf(where, 'life'), 'session.json'), 'utf8');
        return (JSON.parse(text) as { gateway: { pid: number } | null }).gateway?.pid ?? 0;
      };
      const tab = await openTab(await openBrowser(t), await link());
      const look = async (hash: string) => tab.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      const health = (status: string) =>
        eventually(
          tab,
          `[...document.querySelectorAll('main .pill')].some((one) => one.innerText === ${JSON.stringify(status)})`,
        );
      const before = await gateway();

      await look('#/restart/life');
      await tab.locator('#phrase').waitFor();
      await health('clean');
      const asked = await hold(tab, /^restart$/, 'POST');
      for (const wrong of ['restart lif', 'reload life', 'RESTART LIFE', 'restart life/one', '']) {
        await tab.locator('#phrase').fill(wrong);
        assert.equal(await tab.locator('#do-restart').isDisabled(), true, wrong);
        await tab.evaluate('document.querySelector("#phrase").form.requestSubmit()');
      }
      assert.equal(asked.times(), 0);
      const visit = await visitor(await link());
      for (const [confirm, code] of [
        ['reload life', 'confirmation_mismatch'],
        ['', 'confirmation_required'],
      ] as const) {
        const answer = await visit('restart', { namespace: 'life', mode: 'restart', confirm });
        assert.deepEqual([answer.json['allowed'], answer.json['reason_code']], [false, code]);
      }
      assert.equal(await gateway(), before);

      // While another plan is on its way there is no phrase to type for the old one.
      const plan = await hold(tab, /^restart\?.*mode=reload/);
      await tab.locator('#mode').selectOption('reload');
      await plan.asked;
      assert.equal(await tab.locator('#phrase').count(), 0);
      await tab.locator('#mode').selectOption('restart');
      await tab.getByText('Type restart life').waitFor();
      plan.release();
      await tab.locator('#phrase').fill(' restart life ');
      await press(tab, '#do-restart');
      await press(tab, '#do-restart');
      await asked.asked;
      assert.equal(
        await tab.evaluate(
          '[...document.querySelectorAll("#namespace, #mode, #phrase, #do-restart")].every((one) => one.disabled)',
        ),
        true,
      );
      asked.release();
      await tab.getByText('Handed over to the supervisor').waitFor();
      await tab.getByText(/The restart has ended: restarted, clean/).waitFor();
      assert.equal(asked.times(), 1);
      const second = await gateway();
      assert.notEqual(second, before);
      await health('clean');
      await look('#/sessions/life');
      await eventually(
        tab,
        `document.querySelector("main .facts")?.innerText.includes("pid ${second}, runs")`,
      );

      // Killed by hand: started anew, and unproven, until it was cleared and restarted.
      process.kill(second, 'SIGKILL');
      await health('unproven');
      await until('another runs', async () => ![0, second].includes(await gateway()), patience);
      await tab.getByRole('link', { name: /Restart its gateway/ }).click();
      await health('unproven');
      const restart = async () => {
        await tab.locator('#phrase').fill('restart life');
        await tab.locator('#do-restart').click();
      };
      await restart();
      await tab.getByText(/contaminated_runtime/).waitFor();
      const cleared = await where.wraptool(['restart', 'reconcile', 'life', '--note', 'it was me']);
      assert.equal(cleared.code, 0, cleared.stderr);
      await restart();
      await tab.getByText(/The restart has ended: restarted, clean/).waitFor();
      await health('clean');
      await eventually(
        tab,
        `![...document.querySelectorAll('main .pill')].some((one) => one.innerText === 'unproven')`,
      );
      assert.equal(await tab.locator('#live').innerText(), 'live');
      assert.deepEqual(tab.misdeeds, []);
    },
  );
});

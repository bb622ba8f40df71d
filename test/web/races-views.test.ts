/** The other views: what is pressed while an answer is on its way is neither lost nor about something else. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import test, { describe } from 'node:test';
import { sessionsDir } from '../../src/paths.ts';
import { until } from '../support/until.ts';
import { hold, needsBrowser } from './browser.ts';
import { eventually, patience, press, still } from './still.ts';
import { put, visitor } from './support.ts';

describe('the other views, while answers are on their way', needsBrowser(), () => {
  test('a list keeps its rows where something else changes: a click on one is not lost', async (t) => {
    const it = await still(t, '#/requests', 'a[data-request]');
    await it.tab.evaluate('(window.kept = document.querySelector("a[data-request]")).focus()');
    await put(it.it, { id: 'req_0000000b' });
    await it.tab.locator('a[data-request=req_0000000b]').waitFor();
    assert.equal(await it.tab.evaluate('kept.isConnected && document.activeElement === kept'), true);
  });

  test('a revocation: one, however often it is pressed; a refusal is told where it was pressed; the next one is not under the pointer', async (t) => {
    const it = await still(t, '#/requests', 'a[data-request]');
    const { tab } = it;
    await put(it.it, { id: 'req_0000000b', argv: ['--utc', '--rfc-email'] });
    const visit = await visitor(await it.link());
    for (const id of ['req_0000000a', 'req_0000000b']) {
      const { digest } = (await visit(`requests/${id}`)).json;
      assert.equal((await visit(`requests/${id}/approve`, { scope: 'session', digest })).status, 200);
    }
    const grants = async () =>
      ((await visit('requests')).json['grants'] as { id: string }[]).map(({ id }) => id);
    const button = '.grant button';
    const all = `[...document.querySelectorAll("${button}")]`;
    const isOff = () => tab.evaluate<boolean>(`${all}.every((one) => one.disabled)`);
    await eventually(tab, `${all}.length === 2`);
    // They have just come.
    await press(tab, button);
    assert.equal(await isOff(), true);
    await tab.clock.runFor(800);
    const first = await hold(tab, /\/revoke$/, 'POST');
    await press(tab, button);
    await press(tab, button);
    await first.asked;
    // What comes meanwhile does not put another button there.
    await put(it.it, { id: 'req_0000000c' });
    await tab.locator('a[data-request=req_0000000c]').waitFor();
    await tab.clock.runFor(800);
    assert.equal(await isOff(), true);
    first.release('fail');
    await tab.locator('.grant .trouble').waitFor();
    assert.equal(first.times(), 1);
    assert.equal((await grants()).length, 2);
    await eventually(tab, `${all}.every((one) => !one.disabled)`);
    await tab.locator(button).first().click();
    await eventually(tab, `${all}.length === 1`);
    await press(tab, button);
    assert.equal(await isOff(), true);
    await tab.clock.runFor(800);
    assert.equal((await grants()).length, 1);
    await eventually(tab, `${all}.every((one) => !one.disabled)`);
    await tab.locator(button).click();
    await tab.locator('.grant').waitFor({ state: 'hidden' });
    assert.deepEqual(await grants(), []);
  });

  test('rules: only the difference that is shown is saved', async (t) => {
    const it = await still(t, '#/rules/date', '#rules-text');
    const { tab } = it;
    const text = tab.locator('#rules-text');
    const rules = await text.inputValue();
    const saved = () => fs.readFileSync(it.it.config, 'utf8');
    const before = saved();
    const isHeld = () => tab.evaluate<boolean>('document.querySelector("#save").disabled');
    const first = await hold(tab, /\/check$/, 'POST');
    await text.fill(rules.replace('[--utc]', '[--utc, --rfc-email]'));
    await tab.clock.runFor(300);
    await first.asked;
    // Typed on while the first one is judged.
    await text.fill(rules.replace('[--utc]', '[--utc, --universal]'));
    first.release();
    await tab.clock.runFor(300);
    await tab.locator('#judged .added').waitFor();
    assert.match(await tab.locator('#judged .added').innerText(), /--universal/);
    await eventually(tab, 'document.querySelector("#save").disabled === false');
    await text.fill(rules.replace('[--utc]', '[--utc, --rfc-3339]'));
    assert.equal(await isHeld(), true);
    await press(tab, '#save');
    assert.equal(saved(), before);
    // The other section: what was typed in this one is kept, and not what would be saved there.
    const second = await hold(tab, /\/check$/, 'POST');
    await tab.clock.runFor(300);
    await second.asked;
    await tab.getByRole('button', { name: 'deny', exact: true }).click();
    second.release();
    assert.match(await text.inputValue(), /--set/);
    assert.equal(await isHeld(), true);
    await tab.getByRole('button', { name: 'allow', exact: true }).click();
    assert.match(await text.inputValue(), /--rfc-3339/);
    await tab.locator('#judged .added').waitFor();
    assert.match(await tab.locator('#judged .added').innerText(), /--rfc-3339/);
    // While it is written nothing is typed or pressed.
    const write = await hold(tab, /\/save$/, 'POST');
    await tab.locator('#save').click();
    await write.asked;
    const all = '[...document.querySelectorAll("#rules-text, #save, #reread, .tabs button")]';
    assert.equal(await tab.evaluate(`${all}.every((one) => one.disabled)`), true);
    write.release();
    await tab.getByText(/^Written\./).waitFor();
    await eventually(tab, `${all}.filter((one) => one.disabled).length === 1`);
    assert.equal(saved(), before.replace('flags: [--utc]', 'flags: [--utc, --rfc-3339]'));
  });

  test('rules: a file that cannot be read again is told, and what was typed stays', async (t) => {
    const { tab } = await still(t, '#/rules/date', '#rules-text');
    const text = tab.locator('#rules-text');
    const mine = (await text.inputValue()).replace('[--utc]', '[--utc, --rfc-email]');
    await text.fill(mine);
    const read = await hold(tab, /^tools\/date$/);
    await tab.locator('#reread').click();
    await read.asked;
    assert.equal(await text.isDisabled(), true);
    read.release('fail');
    await tab.getByText(/does not answer/).waitFor();
    assert.equal(await text.inputValue(), mine);
    assert.equal(await text.isDisabled(), false);
    assert.deepEqual(tab.misdeeds, ['Failed to load resource: net::ERR_FAILED']);
  });

  test('audit: of two filters the one that was chosen last is shown, whichever answer comes last', async (t) => {
    const { tab, it } = await still(t, '#/audit', '.records tbody tr');
    const first = await hold(tab, /^log\?events=requested/);
    await tab.locator('#event').selectOption('requested');
    await tab.clock.runFor(300);
    await first.asked;
    await tab.locator('#event').selectOption('up');
    await tab.clock.runFor(300);
    await eventually(
      tab,
      '[...document.querySelectorAll(".records td:nth-child(3)")].every((one) => one.innerText === "up")',
    );
    first.release();
    // Comes after the answer that was held.
    await put(it, { id: 'req_0000000d' });
    await tab.evaluate(
      `fetch(location.pathname + 'api/log?events=requested', { headers: { authorization: 'Bearer ' + JSON.parse(sessionStorage.getItem('wraptool-login')).token } }).then((answer) => answer.text())`,
    );
    assert.deepEqual(
      await tab.evaluate(
        '[...new Set([...document.querySelectorAll(".records td:nth-child(3)")].map((one) => one.innerText))]',
      ),
      ['up'],
    );
  });

  test('sessions that cannot be read are said; the list is back when they can', async (t) => {
    const { tab, it } = await still(t, '#/sessions', '.view.sessions .empty');
    const dir = sessionsDir(it.env);
    fs.chmodSync(dir, 0o777);
    await tab.clock.runFor(3_000);
    await until(
      'it is said',
      async () => {
        await tab.clock.runFor(3_000);
        return tab.evaluate<boolean>('document.querySelector(".view.sessions .trouble") !== null');
      },
      patience,
    );
    assert.equal(await tab.locator('.view.sessions .empty').isVisible(), false);
    fs.chmodSync(dir, 0o700);
    await until(
      'it is back',
      async () => {
        await tab.clock.runFor(3_000);
        return tab.evaluate<boolean>('document.querySelector(".view.sessions .trouble") === null');
      },
      patience,
    );
    assert.equal(await tab.locator('.view.sessions .empty').isVisible(), true);
  });

  test('logout: pressed twice it is one, and says so', async (t) => {
    const { tab } = await still(t, '#/requests', 'a[data-request]');
    const logout = await hold(tab, /^logout$/, 'POST');
    await press(tab, '#logout');
    await press(tab, '#logout');
    await logout.asked;
    logout.release();
    await tab.getByText('You are logged out.').waitFor();
    assert.equal(logout.times(), 1);
    assert.deepEqual(tab.misdeeds, []);
  });

  test('a logout that nobody confirms is not claimed; this tab forgets its login all the same', async (t) => {
    const { tab } = await still(t, '#/requests', 'a[data-request]');
    const logout = await hold(tab, /^logout$/, 'POST');
    await press(tab, '#logout');
    await logout.asked;
    logout.release('fail');
    await tab.getByText(/wraptool could not be told/).waitFor();
    assert.equal(await tab.getByText('You are logged out.').count(), 0);
    assert.equal(await tab.evaluate('sessionStorage.length'), 0);
    assert.equal(await tab.locator('a[data-request]').count(), 0);
  });
});

/** Each view, light and dark, wide and narrow: a picture into test-artifacts/, and no serious finding of axe. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test, { describe } from 'node:test';
import { call, connect } from '../gateway/support.ts';
import { axeSource, needsBrowser, openBrowser, openTab, type Watched } from './browser.ts';
import { put, site, visitor } from './support.ts';

const folder = path.resolve('test-artifacts/web');
const views = [
  ['requests', '#/requests', 'a[data-request]'],
  ['request', '#/request/req_0000000a', '.diff'],
  ['decided', '#/request/req_0000000c', '[aria-label="the decision"]'],
  ['rules', '#/rules', '.list'],
  ['rules-of-a-tool', '#/rules/date', '#rules-text'],
  ['sessions', '#/sessions', '.empty'],
  ['audit', '#/audit', '.records tbody tr'],
  ['restart', '#/restart', '.empty'],
] as const;

type Axe = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary: string }[] }[];
};

/** Through the browser's own console: the page lets no other script in. */
async function findings(tab: Watched): Promise<string[]> {
  await tab.evaluate(readFileSync(axeSource(), 'utf8'));
  const { violations } = await tab.evaluate<Axe>('axe.run(document, { resultTypes: ["violations"] })');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

describe('looks', needsBrowser(), () => {
  test('every view in light and dark, at 1280 and 390', async (t) => {
    mkdirSync(folder, { recursive: true });
    const it = await site(t);
    const client = await connect(t, it.gateway.ready.url ?? '', it.it.src);
    await call(client, 'wraptool_run', { tool: 'date', argv: ['--utc'] });
    await call(client, 'wraptool_run', { tool: 'date', argv: ['--utc', '--rfc-email'] });
    await put(
      it.it,
      {
        id: 'req_0000000a',
        rationale: 'The report needs the time as ISO 8601.\nOnly the day matters.',
        enables: 'reports that can be sorted',
      },
      { id: 'req_0000000b', argv: ['--utc', '--rfc-3339=ns', 'gіt\u202e'], client: 'claude-code 2.1' },
      { id: 'req_0000000c', argv: ['--set', 'now'] },
      { id: 'req_0000000d', argv: ['--utc', '--universal'] },
    );
    const visit = await visitor(await it.link());
    assert.equal(
      (await visit('requests/req_0000000c/deny', { reason: 'the clock is not yours to set' })).status,
      200,
    );
    const { digest } = (await visit('requests/req_0000000d')).json;
    assert.equal(
      (await visit('requests/req_0000000d/approve', { scope: 'for', for: '30m', digest })).status,
      200,
    );
    const browser = await openBrowser(t);
    const found: string[] = [];
    for (const dark of [false, true])
      for (const width of [1280, 390]) {
        const tab = await openTab(browser, await it.link(), { width, dark });
        const look = `${dark ? 'dark' : 'light'}-${width}`;
        for (const [name, hash, ready] of views) {
          await tab.evaluate(`location.hash = ${JSON.stringify(hash)}`);
          await tab
            .locator(`.view.${/^#.(\w+)/.exec(hash)?.[1] ?? ''} ${ready}`)
            .first()
            .waitFor();
          // Its button can be pressed: what it looks like then is what is looked at.
          if (name === 'requests') await tab.keyboard.press('j');
          if (name === 'request') await tab.locator('#approve:enabled').waitFor();
          if (name === 'rules-of-a-tool') {
            const text = tab.locator('#rules-text');
            await text.fill((await text.inputValue()).replace('[--utc]', '[--utc, --rfc-email]'));
            await tab.locator('#judged .added').waitFor();
          }
          found.push(...(await findings(tab)).map((text) => `${look} ${name} ${text}`));
          assert.ok(
            (await tab.evaluate<number>('document.documentElement.scrollWidth')) <= width,
            `${look} ${name}`,
          );
          await tab.screenshot({ path: path.join(folder, `${name}-${look}.png`), fullPage: true });
        }
        await tab.keyboard.press('?');
        await tab.locator('dialog[open]').waitFor();
        found.push(...(await findings(tab)).map((text) => `${look} help ${text}`));
        await tab.screenshot({ path: path.join(folder, `help-${look}.png`), fullPage: false });
        await tab.keyboard.press('Escape');
        await tab.getByRole('button', { name: 'Log out' }).click();
        await tab.getByText('You are logged out.').waitFor();
        found.push(...(await findings(tab)).map((text) => `${look} login ${text}`));
        await tab.screenshot({ path: path.join(folder, `login-${look}.png`), fullPage: true });
        assert.deepEqual(tab.misdeeds, []);
      }
    assert.deepEqual(found, []);
  });

  test('with reduced motion nothing moves', async (t) => {
    const it = await site(t);
    await put(it.it, { id: 'req_0000000a' });
    const browser = await openBrowser(t);
    const tab = await openTab(browser, await it.link());
    await tab.emulateMedia({ reducedMotion: 'reduce' });
    await tab.locator('a[data-request]').waitFor();
    const moving = await tab.evaluate<number>(
      '[...document.querySelectorAll("*")].filter((one) => { const style = getComputedStyle(one); return style.animationName !== "none" || style.transitionDuration !== "0s" }).length',
    );
    assert.equal(moving, 0);
  });
});

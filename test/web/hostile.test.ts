/** Whatever an agent can write, in every field that it can write: shown, never obeyed. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { needsBrowser, openBrowser, openTab } from './browser.ts';
import { put, site, visitor } from './support.ts';
import { obeyed, texts } from './texts.ts';
import { openLog } from '../../src/log/append.ts';

describe('hostile text', needsBrowser(), () => {
  test('in every field of a request: nothing runs, nothing is hidden, the layout holds', async (t) => {
    const it = await site(t);
    const entries = Object.entries(texts);
    await put(
      it.it,
      ...entries.map(([, text], index) => ({
        id: `req_000000${(index + 16).toString(16)}`,
        rationale: text,
        enables: text,
        client: text,
        cwd: `/${text}`,
        // A long one, as long as a call may have.
        argv: ['--utc', text, ...(index === 0 ? ['y'.repeat(32_000)] : [])],
      })),
      { id: 'req_000000ff', tool: texts['markup'] ?? '', argv: [] },
      { id: 'req_000000fe', rationale: 'z'.repeat(480_000), argv: ['--utc', 'w'.repeat(480_000)] },
    );
    const browser = await openBrowser(t);
    for (const width of [1280, 390]) {
      const tab = await openTab(browser, await it.link(), { width });
      const fits = async (what: string) => {
        const wide = await tab.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(wide <= width, `${what} is ${wide} wide`);
        const raw = await tab.evaluate<boolean>(`${obeyed}.test(document.body.innerText)`);
        assert.equal(raw, false, what);
        assert.equal(
          await tab.evaluate<number>('document.querySelectorAll("main img, main script, main style").length'),
          0,
        );
      };
      await tab.locator('a[data-request]').first().waitFor();
      await fits('the list');
      for (const [index, [name]] of entries.entries()) {
        await tab.evaluate(`location.hash = "#/request/req_000000${(index + 16).toString(16)}"`);
        await tab.locator('#what + dl').waitFor();
        await tab.locator(`.crumbs:has-text("req_000000${(index + 16).toString(16)}")`).waitFor();
        await fits(name);
        // The decision is where it is with any request: what is long scrolls in its own box.
        const height = await tab.evaluate<number>(
          'document.querySelector("#why").parentElement.offsetHeight',
        );
        assert.ok(height < 700, `${name}: ${height}`);
      }
      for (const id of ['req_000000ff', 'req_000000fe']) {
        await tab.evaluate(`location.hash = "#/request/${id}"`);
        await tab.locator(`.crumbs:has-text("${id}")`).waitFor();
        await fits(id);
      }
      await tab.evaluate('location.hash = "#/audit"');
      await tab.locator('.records tbody tr').first().waitFor();
      await fits('the audit');
      assert.deepEqual(tab.misdeeds, []);
    }
    const tab = await openTab(browser, await it.link());
    await tab.evaluate('location.hash = "#/request/req_00000013"');
    await tab.locator('.crumbs:has-text("req_00000013")').waitFor();
    const shown = await tab.locator('#why + .agent').innerText();
    assert.equal(shown, 'safe\\u{202e} evil\\u{202c} \\u{2066}x\\u{2069}');
    await tab.evaluate('location.hash = "#/request/req_00000017"');
    await tab.locator('.crumbs:has-text("req_00000017")').waitFor();
    await tab.getByText('Marked characters are not plain ASCII').waitFor();
    assert.ok((await tab.locator('.word mark').count()) >= 3);
  });

  test('in the log, in a grant, in the label of a session and in the address: the same', async (t) => {
    const it = await site(t);
    const entries = Object.entries(texts);
    for (const [, text] of entries) {
      const log = await openLog(it.it.log, { session: text });
      const call = log.append({
        event: 'received',
        // As a server upstream calls its tool.
        name: `server__${text}`,
        tool: null,
        argv: null,
        arguments: JSON.stringify({ text }),
        client: text,
        mcp_session: text,
        key: text,
      });
      log.append({
        event: 'decided',
        call,
        decision: 'deny',
        reason: text,
        detail: text,
        tool: text,
        subcommand: [text],
        argv: [text, text],
        cwd: `/${text}`,
        rule: null,
        config: '',
      });
      log.append({ event: 'contamination', namespace: text, reason: text, detail: text, marker: text });
      log.append({
        event: 'restart',
        namespace: text,
        actor: text,
        mode: text,
        result: text,
        reason: text,
        action_id: null,
      });
      log.close();
    }
    const hex = (index: number) => (index + 16).toString(16);
    await put(
      it.it,
      ...entries.map(([, text], index) => ({
        id: `req_000000${hex(index)}`,
        argv: ['--utc', `--x=${text.replaceAll(/[^ -~]/g, '?').slice(0, 500)}`],
        rationale: text,
      })),
    );
    const visit = await visitor(await it.link());
    let granted = 0;
    for (const index of entries.keys()) {
      const where = `requests/req_000000${hex(index)}`;
      const { digest } = (await visit(where)).json;
      if (index % 2 === 0)
        granted += (await visit(`${where}/approve`, { scope: 'session', digest })).status === 200 ? 1 : 0;
      else await visit(`${where}/deny`, { reason: entries[index]?.[1] ?? '' });
    }
    assert.ok(granted > 0);
    const browser = await openBrowser(t);
    for (const width of [1280, 390]) {
      const tab = await openTab(browser, await it.link(), { width });
      const check = async (what: string) => {
        assert.ok((await tab.evaluate<number>('document.documentElement.scrollWidth')) <= width, what);
        assert.equal(await tab.evaluate(`${obeyed}.test(document.body.innerText)`), false, what);
        assert.equal(
          await tab.evaluate('document.querySelectorAll("main img, main script, main style").length'),
          0,
          what,
        );
        assert.equal(await tab.evaluate('document.querySelectorAll("main [onmouseover]").length'), 0, what);
      };
      await tab.locator('.grant').first().waitFor();
      assert.equal(await tab.locator('.grant').count(), granted);
      await check('grants');
      await tab.evaluate('location.hash = "#/audit"');
      await tab.locator('td:text-is("restart")').first().waitFor();
      await check('the audit');
      const tallest = await tab.evaluate<number>(
        'Math.max(...[...document.querySelectorAll(".records tr")].map((one) => one.offsetHeight))',
      );
      assert.ok(tallest < 900, `a row is ${tallest} high`);
      await tab.locator('tr.refused a').first().click();
      await tab.getByRole('heading', { name: 'The story of one call' }).waitFor();
      await check('the story');
      // By the address an agent can only name what is not there.
      for (const hash of [
        '#/request/..%2Flog',
        '#/request/..',
        '#/request/req_00000010%2f..%2f..%2ftools',
        `#/request/${encodeURIComponent(texts['markup'] ?? '')}`,
        '#/sessions/..%2Frequests',
        '#/rules/..',
        '#/request/%E0%A4%A',
      ]) {
        await tab.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await tab.getByRole('heading', { name: 'That did not work' }).waitFor();
        await check(hash);
        await tab.evaluate('location.hash = "#/requests"');
        await tab.getByRole('heading', { name: 'Requests' }).waitFor();
      }
      for (const name of ['bidi', 'markup']) {
        const hash = `#/why/${encodeURIComponent(texts[name] ?? '')}`;
        await tab.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await tab.getByRole('heading', { name: 'That did not work' }).waitFor();
        await check(hash);
        await tab.evaluate('location.hash = "#/requests"');
        await tab.getByRole('heading', { name: 'Requests' }).waitFor();
      }
      assert.deepEqual(tab.misdeeds, []);
    }
  });
});

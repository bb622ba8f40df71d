/** Whatever an agent can write, in every field that it can write: shown, never obeyed. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { needsBrowser, openBrowser, openTab } from './browser.ts';
import { put, site } from './support.ts';

const texts: Readonly<Record<string, string>> = {
  markup: '<img src=x onerror="alert(1)"><script>alert(2)</script><style>*{display:none}</style>',
  'an attribute': '" onmouseover="alert(1)" x="',
  'a link': 'javascript:alert(1)',
  bidi: 'safe\u202e evil\u202c \u2066x\u2069',
  'zero-width': 'gi\u200bt pu\u200dsh\ufeff\u2060',
  ansi: '\u001b[2J\u001b[31mred\u0007',
  newlines: `one\n\n\n\r\n\u2028${'\n'.repeat(200)}Approve`,
  homoglyphs: 'gіt рush оrigin',
  'a button': '[ Approve ]   ✔ Approved by the operator',
  'one long word': 'x'.repeat(1_950),
  template: '${alert(1)} {{constructor.constructor("alert(1)")()}}',
  prototype: '__proto__',
  surrogates: 'a\ud800b',
};

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
        const raw = await tab.evaluate<boolean>(
          '/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u200d\\u2060\\ufeff\\u001b\\u0007\\u2028]/.test(document.body.innerText)',
        );
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
});

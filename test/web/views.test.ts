/** Rules, audit, the viewer and the end of a login, in a real Chromium with a real gateway behind it. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import test, { describe } from 'node:test';
import { call, connect } from '../gateway/support.ts';
import { needsBrowser } from './browser.ts';
import { start } from './start.ts';
import { eventually } from './still.ts';
import { put, send } from './support.ts';

describe('the other views', needsBrowser(), () => {
  test('rules: an invalid edit is refused in place, a valid one is shown before it is saved', async (t) => {
    const { tab, it } = await start(t);
    await tab.getByRole('link', { name: 'Rules' }).click();
    await tab.getByRole('link', { name: /^date/ }).click();
    const text = tab.locator('#rules-text');
    const before = fs.readFileSync(it.config, 'utf8');
    const rules = await text.inputValue();
    assert.match(rules, /# the hour of the ships/);
    for (const [wrong, why] of [
      [rules.replace('flags:', 'flgas:'), /line 2.*flgas/],
      [rules.replace('[--utc]', '[--utc'), /not be YAML/],
      [rules.replace('match: [--utc]', 'match: [--rfc-email]'), /--rfc-email/],
      [rules.replace(/\n.*/s, ' []\n    timeout: 9s'), /only tools\.date\.allow/],
      [
        `${rules}\n  evil: { binary: /bin/sh, allow: [{ args: any }] }`,
        /only tools\.date\.allow|not be YAML/,
      ],
    ] as const) {
      await text.fill(wrong);
      await tab.locator('#rules-text[aria-invalid=true]').waitFor();
      const said = await tab.locator('#judged').innerText();
      assert.match(said, why);
      assert.equal(await tab.locator('#save').isDisabled(), true);
      await text.fill(rules);
      await tab.locator('#rules-text[aria-invalid=false]').waitFor();
    }
    assert.equal(fs.readFileSync(it.config, 'utf8'), before);
    await text.fill(rules.replace('[--utc]', '[--utc, --rfc-email]'));
    await tab.locator('#judged .diff .added').waitFor();
    assert.match(
      await tab.locator('#judged').innerText(),
      /Examples of the rules that were tried, and hold: 1\./,
    );
    await tab.locator('#save').click();
    await tab.getByText(/^Written\./).waitFor();
    assert.equal(
      fs.readFileSync(it.config, 'utf8'),
      before.replace('flags: [--utc]', 'flags: [--utc, --rfc-email]'),
    );
    assert.deepEqual(tab.misdeeds, []);
  });

  test('rules: a file that changed on disk is not overwritten, and what was typed stays', async (t) => {
    const { tab, it } = await start(t);
    await tab.evaluate('location.hash = "#/rules/date"');
    const text = tab.locator('#rules-text');
    await text.waitFor();
    const mine = (await text.inputValue()).replace('[--utc]', '[--utc, --rfc-email]');
    await text.fill(mine);
    await tab.locator('#judged .diff .added').waitFor();
    const theirs = `${fs.readFileSync(it.config, 'utf8')}# theirs\n`;
    fs.writeFileSync(it.config, theirs);
    await tab.locator('#save').click();
    await tab.getByText(/has changed since it was read: nothing was written/).waitFor();
    assert.equal(fs.readFileSync(it.config, 'utf8'), theirs);
    assert.equal(await text.inputValue(), mine);
  });

  test('the audit is live, can be filtered, and tells the story of a call', async (t) => {
    const { tab, it, gateway } = await start(t);
    await tab.getByRole('link', { name: 'Audit' }).click();
    await tab.locator('.records tbody tr').first().waitFor();
    const client = await connect(t, gateway.ready.url ?? '', it.src);
    await call(client, 'wraptool_run', { tool: 'date', argv: ['--utc'] });
    await tab.locator('td:text-is("finished")').first().waitFor();
    await call(client, 'wraptool_run', { tool: 'date', argv: ['--iso-8601'] });
    await tab.locator('tr.refused').first().waitFor();
    await tab.locator('#event').selectOption('decided');
    await tab.locator('td:text-is("finished")').first().waitFor({ state: 'hidden' });
    await tab.locator('#text').fill('iso-8601');
    await eventually(tab, 'document.querySelectorAll(".records tbody tr").length === 1');
    await tab.getByRole('link', { name: 'why' }).click();
    await tab.getByRole('heading', { name: 'The story of one call' }).waitFor();
    await tab.locator('td:text-is("received")').waitFor();
    assert.deepEqual(tab.misdeeds, []);
  });

  test('a viewer sees the request and no way to decide', async (t) => {
    const { it, link, open } = await start(t);
    await put(it, { id: 'req_0000000a' });
    const tab = await open(await link('--viewer'));
    await tab.getByText('read-only').waitFor();
    await tab.locator('a[data-request]').click();
    await tab.getByText('This login may look, and change nothing.').waitFor();
    assert.equal(await tab.locator('#approve, #deny, #wide').count(), 0);
    assert.deepEqual(tab.misdeeds, []);
  });

  test('logout ends the login of this tab alone, and an ended login shows how to get another', async (t) => {
    const { tab, open } = await start(t);
    const other = await open();
    const token = await tab.evaluate<string>('sessionStorage.getItem("wraptool-login")');
    await tab.getByRole('button', { name: 'Log out' }).click();
    await tab.getByText('You are logged out.').waitFor();
    assert.equal(await tab.evaluate('sessionStorage.length'), 0);
    await other.getByRole('link', { name: 'Sessions' }).click();
    await other.getByText('No session runs.').waitFor();
    await tab.evaluate(`sessionStorage.setItem("wraptool-login", ${JSON.stringify(token)})`);
    await tab.reload();
    await tab.getByText(/login has ended/).waitFor();
  });

  test('after logout, back and forward show nothing of it; nor does a page that was left and whose login ended meanwhile', async (t) => {
    const { tab, it, open, base } = await start(t);
    await put(it, { id: 'req_0000000a', rationale: 'the reason that was read' });
    await tab.locator('a[data-request]').click();
    await tab.getByText('the reason that was read').waitFor();
    await tab.getByRole('button', { name: 'Log out' }).click();
    await tab.getByText('You are logged out.').waitFor();
    for (const go of [() => tab.goBack(), () => tab.goForward(), () => tab.goBack()]) {
      await go();
      assert.equal(await tab.getByText('the reason that was read').count(), 0);
      assert.equal(await tab.locator('#top').isVisible(), false);
    }
    assert.doesNotMatch(await tab.title(), /req_/);
    const left = await open();
    await left.locator('a[data-request]').click();
    await left.getByText('the reason that was read').waitFor();
    const token = await left.evaluate<string>('JSON.parse(sessionStorage.getItem("wraptool-login")).token');
    await left.goto('about:blank');
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await send(`${base}api/logout`, { method: 'POST', headers, body: {} })).status, 200);
    await left.goBack();
    await left.getByText(/login has ended/).waitFor();
    assert.equal(await left.getByText('the reason that was read').count(), 0);
    assert.deepEqual([...tab.misdeeds, ...left.misdeeds], []);
  });

  test('another link in a tab that is logged in: the new login is the tab’s, with one line', async (t) => {
    const { tab, it, link } = await start(t);
    const before = await tab.evaluate<string>('sessionStorage.getItem("wraptool-login")');
    await tab.evaluate(`location.hash = ${JSON.stringify(new URL(await link('--viewer')).hash)}`);
    await tab.getByText('read-only').waitFor();
    assert.notEqual(await tab.evaluate('sessionStorage.getItem("wraptool-login")'), before);
    assert.doesNotMatch(tab.url(), /login=/);
    await put(it, { id: 'req_0000000a' });
    await tab.locator('a[data-request]').waitFor();
    await tab.getByText('A new request waits.').waitFor();
    assert.equal(await tab.locator('#live').innerText(), 'live');
    assert.deepEqual(tab.misdeeds, []);
  });
});

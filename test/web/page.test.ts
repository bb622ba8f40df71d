/** The operator's page in a real Chromium, with a real gateway and a real MCP client behind it. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import test, { describe } from 'node:test';
import { eventsOf, records } from '../gateway/records.ts';
import { call, connect } from '../gateway/support.ts';
import { requestOf } from '../requests/support.ts';
import { hold, needsBrowser } from './browser.ts';
import { start } from './start.ts';
import { eventually } from './still.ts';
import { put } from './support.ts';

describe('the page', needsBrowser(), () => {
  test('a link logs in, leaves the address, sets no cookie, and is good once', async (t) => {
    const { tab, open, link } = await start(t);
    assert.doesNotMatch(tab.url(), /login=/);
    assert.deepEqual(await tab.context().cookies(), []);
    assert.equal(await tab.evaluate('document.cookie'), '');
    assert.match(await tab.evaluate<string>('sessionStorage.getItem("wraptool-login")'), /token/);
    await tab.reload();
    await tab.getByRole('heading', { name: 'Requests' }).waitFor();
    const used = await link();
    await open(used);
    const late = await open(used);
    await late.getByText(/was used already, or is too old/).waitFor();
    await late.getByText('wraptool admin open').first().waitFor();
    assert.equal(await late.evaluate('sessionStorage.length'), 0);
    assert.deepEqual([...tab.misdeeds, ...late.misdeeds], []);
  });

  test('a request of a real MCP client arrives by itself, is counted in the title, and is applied', async (t) => {
    const { tab, it, gateway } = await start(t);
    const client = await connect(t, gateway.ready.url ?? '', it.src);
    const run = () => call(client, 'wraptool_run', { tool: 'date', argv: ['--utc', '--iso-8601'] });
    const request = requestOf(await run());
    const answer = call(client, 'wraptool_request_capability', { ...request, wait: 40 });
    await tab.locator('a[data-request][data-status=pending]').waitFor();
    assert.match(await tab.title(), /^\(1\) /);
    await tab.keyboard.press('j');
    await tab.keyboard.press('Enter');
    await tab.getByRole('heading', { name: 'A call is asked for' }).waitFor();
    assert.match(await tab.locator('.diff').innerText(), /^\+ .*--iso-8601/m);
    assert.match(await tab.locator('#why + .agent').innerText(), /to know the time/);
    const before = fs.readFileSync(it.config, 'utf8');
    await tab.locator('#scope-apply').check();
    await tab.getByRole('button', { name: 'Write the rule into the config' }).click();
    await tab.getByText(/Written to .* The request is allowed, effective now/).waitFor();
    assert.equal((await answer).structuredContent?.['status'], 'approved');
    assert.equal((await run()).isError, false);
    const after = fs.readFileSync(it.config, 'utf8');
    assert.ok(before.split('\n').every((line) => after.includes(line)));
    await eventually(tab, '!document.title.startsWith("(")');
    const [approved] = await eventsOf(it.log, 'approved');
    assert.match(approved?.actor ?? '', /\(web page\)$/);
    assert.deepEqual(tab.misdeeds, []);
  });

  test('a key alone approves nothing; a leads to the approval, d to the reason, ? to the keys', async (t) => {
    const { tab, it } = await start(t);
    await put(it, { id: 'req_0000000a' }, { id: 'req_0000000b' });
    await tab.locator('a[data-request=req_0000000b]').waitFor();
    await tab.keyboard.press('j');
    await tab.keyboard.press('j');
    await tab.keyboard.press('k');
    await tab.keyboard.press('a');
    await tab.locator('#scope-once').waitFor();
    await eventually(tab, 'document.activeElement.id === "scope-once"');
    assert.match(tab.url(), /req_0000000a/);
    await tab.keyboard.press('d');
    await eventually(tab, 'document.activeElement.id === "reason"');
    // In a field they are letters.
    await tab.keyboard.type('ask ja?');
    assert.equal(await tab.locator('#reason').inputValue(), 'ask ja?');
    assert.equal(
      (await records(it.log)).filter(({ event }) => ['approved', 'granted', 'denied'].includes(String(event)))
        .length,
      0,
    );
    await tab.locator('h1').click();
    await tab.keyboard.press('?');
    await tab.locator('dialog[open]').waitFor();
    await tab.keyboard.press('Escape');
    await tab.locator('dialog[open]').waitFor({ state: 'hidden' });
    await tab.keyboard.press('Escape');
    await tab.getByRole('heading', { name: 'Requests' }).waitFor();
    assert.deepEqual(tab.misdeeds, []);
  });

  test('a denial needs a reason, and gives it to the client', async (t) => {
    const { tab, it, gateway } = await start(t);
    const client = await connect(t, gateway.ready.url ?? '', it.src);
    const denial = await call(client, 'wraptool_run', { tool: 'date', argv: ['--iso-8601'] });
    const answer = call(client, 'wraptool_request_capability', { ...requestOf(denial), wait: 40 });
    await tab.locator('a[data-request]').click();
    await tab.locator('#deny').click();
    assert.equal(
      (await records(it.log)).some(({ event }) => event === 'denied'),
      false,
    );
    await tab.locator('#reason').fill('use --utc');
    await tab.locator('#deny').click();
    await tab.getByText('Denied.').waitFor();
    assert.equal((await answer).structuredContent?.['reason'], 'use --utc');
  });

  for (const [scope, more, wanted] of [
    ['once', null, { scope: 'once', uses: 1 }],
    ['uses', ['#uses', '2'], { scope: 'uses', uses: 2 }],
    ['for', ['#for', '5m'], { scope: 'for', uses: null }],
    ['session', null, { scope: 'session', uses: null }],
  ] as const)
    test(`an approval "${scope}" grants so far, and can be revoked`, async (t) => {
      const { tab, it } = await start(t);
      await put(it, { id: 'req_0000000a' });
      const before = fs.readFileSync(it.config);
      await tab.locator('a[data-request]').click();
      await tab.locator(`#scope-${scope}`).check();
      if (more !== null) await tab.locator(more[0]).fill(more[1]);
      await tab.locator('#approve').click();
      await tab.getByText(/Granted \(grt_/).waitFor();
      const [granted] = await eventsOf(it.log, 'granted');
      assert.deepEqual({ scope: granted?.scope, uses: granted?.uses }, wanted);
      assert.deepEqual(fs.readFileSync(it.config), before);
      await tab.getByRole('link', { name: 'Requests', exact: true }).first().click();
      await tab.getByRole('button', { name: /Revoke grt_/ }).click();
      await tab.getByRole('button', { name: /Revoke grt_/ }).waitFor({ state: 'hidden' });
      assert.ok((await records(it.log)).some(({ event }) => event === 'revoked'));
      assert.deepEqual(tab.misdeeds, []);
    });

  for (const [line, heard] of [
    ['heard of it', true],
    ['has not heard of it', false],
  ] as const)
    test(`two browsers on one request: the second ${line}, is told who decided, and decides nothing`, async (t) => {
      const { tab, it, open } = await start(t);
      await put(it, { id: 'req_0000000a' });
      const other = await open();
      const events = heard ? null : await hold(other, /^events$/);
      if (events !== null) {
        await other.reload();
        await events.asked;
      }
      for (const one of [tab, other]) {
        await one.locator('a[data-request]').click();
        await eventually(one, 'document.querySelector("#approve")?.disabled === false');
      }
      await tab.locator('#approve').click();
      await tab.getByText(/Granted/).waitFor();
      if (heard) await other.getByText(/is approved now, by .*\(web page\)/).waitFor();
      else {
        await other.locator('#approve').click();
        await other.getByText(/approved already/).waitFor();
      }
      for (const one of [tab, other]) assert.equal(await one.locator('#approve, #deny').count(), 0);
      assert.match(await other.locator('[aria-label="the decision"]').innerText(), /\(web page\)/);
      assert.equal((await records(it.log)).filter(({ event }) => event === 'granted').length, 1);
      events?.release();
    });
});

/** One request: a click while an answer is on its way, or just after something else was shown, decides on nothing unseen. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import test, { describe, type TestContext } from 'node:test';
import { eventsOf, records } from '../gateway/records.ts';
import { hold, needsBrowser, type Watched } from './browser.ts';
import { eventually, press, still } from './still.ts';
import type { Site } from './support.ts';

const request = (t: TestContext) => still(t, '#/request/req_0000000a', '#approve');
const states = (tab: Watched) =>
  tab.evaluate<boolean[]>(
    '["#approve", "#deny", "#wide"].map((one) => document.querySelector(one).disabled)',
  );
const decisions = async ({ it }: Site) =>
  (await records(it.log)).filter(({ event }) => ['granted', 'approved', 'denied'].includes(String(event)));

/** The moment in which nothing can be decided. */
async function wait(tab: Watched): Promise<void> {
  assert.deepEqual(await states(tab), [true, true, false]);
  await tab.clock.runFor(500);
  assert.deepEqual(await states(tab), [true, true, false]);
  await tab.clock.runFor(300);
  assert.deepEqual(await states(tab), [false, false, false]);
}

const enter = (tab: Watched) => tab.evaluate('document.querySelector("form.approve").requestSubmit()');

describe('deciding, while answers are on their way', needsBrowser(), () => {
  test('a request that has just been opened cannot be approved or denied for a moment', async (t) => {
    const it = await request(t);
    await press(it.tab, '#approve');
    await enter(it.tab);
    await wait(it.tab);
    assert.deepEqual(await decisions(it), []);
    await it.tab.locator('#approve').click();
    await it.tab.getByText(/Granted/).waitFor();
  });

  test('something else than was shown: nothing can be pressed before it is there, nor in the moment after', async (t) => {
    const it = await request(t);
    const { tab } = it;
    await wait(tab);
    await tab.locator('#reason').fill('no, because');
    await tab.locator('#scope-session').check();
    fs.appendFileSync(it.it.config, '# an editor was here\n');
    const review = await hold(tab, /^requests\/req_/);
    await press(tab, '#approve');
    await review.asked;
    assert.deepEqual(await states(tab), [true, true, true]);
    assert.equal(await tab.locator('.said').innerText(), '');
    await press(tab, '#approve');
    await enter(tab);
    review.release();
    await tab.getByText(/has changed since/).waitFor();
    await enter(tab);
    await wait(tab);
    assert.deepEqual(await decisions(it), []);
    // What a person chose and wrote is still there.
    assert.equal(await tab.locator('#reason').inputValue(), 'no, because');
    await tab.locator('#approve').click();
    await tab.getByText(/Granted/).waitFor();
    assert.equal((await eventsOf(it.it.log, 'granted'))[0]?.scope, 'session');
    assert.deepEqual(tab.misdeeds, []);
  });

  test('what is there now cannot be read: it is said, and the buttons come back', async (t) => {
    const it = await request(t);
    await wait(it.tab);
    fs.appendFileSync(it.it.config, '# an editor was here\n');
    const review = await hold(it.tab, /^requests\/req_/);
    await press(it.tab, '#approve');
    await review.asked;
    review.release('fail');
    await it.tab.getByText(/does not answer/).waitFor();
    assert.match(await it.tab.locator('.said').innerText(), /has changed since/);
    assert.deepEqual(await states(it.tab), [false, false, false]);
    await it.tab.locator('#approve').click();
    await it.tab.getByText(/has changed since/).waitFor();
    await eventually(it.tab, '!document.querySelector(".said").innerText.includes("does not answer")');
    await wait(it.tab);
    assert.deepEqual(await decisions(it), []);
  });

  test('an approval that is refused leaves the buttons as they were', async (t) => {
    const it = await request(t);
    await wait(it.tab);
    await it.tab.locator('#for').fill('90h');
    await it.tab.locator('#approve').click();
    await it.tab.getByText(/a time such as 30m is needed/).waitFor();
    assert.deepEqual(await states(it.tab), [false, false, false]);
    assert.deepEqual(await decisions(it), []);
  });

  test('two clicks on one button are one decision', async (t) => {
    const it = await request(t);
    await wait(it.tab);
    const approve = await hold(it.tab, /\/approve$/, 'POST');
    await press(it.tab, '#approve');
    await press(it.tab, '#approve');
    await it.tab.evaluate('document.querySelector("#reason").value = "no"');
    await it.tab.evaluate('document.querySelector("form.deny").requestSubmit()');
    await approve.asked;
    approve.release();
    await it.tab.getByText(/Granted/).waitFor();
    assert.equal(approve.times(), 1);
    assert.deepEqual(
      (await decisions(it)).map(({ event }) => event),
      ['granted', 'approved'],
    );
  });

  test('wide: nothing can be pressed before its change is shown, nor in the moment after', async (t) => {
    const it = await request(t);
    const { tab } = it;
    await wait(tab);
    await tab.locator('#scope-session').check();
    const narrow = await tab.locator('.diff').innerText();
    const review = await hold(tab, /\?wide=1$/);
    await press(tab, '#wide');
    await review.asked;
    assert.deepEqual(await states(tab), [true, true, true]);
    await press(tab, '#approve');
    await enter(tab);
    review.release();
    await eventually(tab, `document.querySelector(".diff").innerText !== ${JSON.stringify(narrow)}`);
    await press(tab, '#approve');
    await wait(tab);
    assert.deepEqual(await decisions(it), []);
    assert.equal(await tab.locator('#wide').isChecked(), true);
    await tab.locator('#approve').click();
    await tab.getByText(/Granted/).waitFor();
    const [granted] = await eventsOf(it.it.log, 'granted');
    assert.equal(granted?.scope, 'session');
    assert.ok(granted?.rule?.exact === undefined || granted.rule.exact.open !== undefined);
  });

  test('wide that cannot be read: what is shown stays, and so does its tick', async (t) => {
    const it = await request(t);
    await wait(it.tab);
    const review = await hold(it.tab, /\?wide=1$/);
    await press(it.tab, '#wide');
    await review.asked;
    review.release('fail');
    await it.tab.getByText(/does not answer/).waitFor();
    assert.equal(await it.tab.locator('#wide').isChecked(), false);
    await it.tab.locator('#approve').click();
    await it.tab.getByText(/Granted/).waitFor();
  });

  test('a scope that cannot be had any more is not replaced by a farther one', async (t) => {
    const it = await request(t);
    const { tab } = it;
    await wait(tab);
    await tab.locator('#scope-session').check();
    fs.appendFileSync(it.it.config, '# an editor was here\n');
    // As the answer is once the session has ended.
    await tab.route(
      ({ pathname }) => pathname.endsWith('/req_0000000a'),
      async (route) => {
        const response = await route.fetch();
        const review = (await response.json()) as Record<string, unknown>;
        await route.fulfill({ response, json: { ...review, session_ended: true } });
      },
    );
    await tab.locator('#approve').click();
    await tab.getByText(/has changed since/).waitFor();
    await wait(tab);
    assert.equal(await tab.locator('input[name=scope]:checked').count(), 0);
    await tab.locator('#approve').click();
    assert.deepEqual(await decisions(it), []);
    assert.equal((await tab.locator('input[name=scope]:invalid').count()) > 0, true);
  });

  test('the answer to a decision is told even where its view was left meanwhile', async (t) => {
    const it = await request(t);
    await wait(it.tab);
    const approve = await hold(it.tab, /\/approve$/, 'POST');
    await press(it.tab, '#approve');
    await approve.asked;
    await it.tab.evaluate('location.hash = "#/requests"');
    await it.tab.locator('.view.requests').waitFor();
    approve.release();
    await it.tab
      .locator('#said')
      .getByText(/Granted/)
      .waitFor();
  });
});

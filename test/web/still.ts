/** A tab with one request, whose timers are the test's: what takes a moment takes as long as the test says. */
import type { TestContext } from 'node:test';
import { until } from '../support/until.ts';
import { openBrowser, openTab, type Watched } from './browser.ts';
import { put, site, type Site } from './support.ts';

export const patience = 60_000;

export const eventually = (tab: Watched, script: string): Promise<true> =>
  until(script, () => tab.evaluate<boolean>(script), patience) as Promise<true>;

/** A press that no check of the test's own holds back, as a person presses. */
export const press = (tab: Watched, selector: string): Promise<unknown> =>
  tab.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);

export async function still(
  t: TestContext,
  hash: string,
  ready: string,
): Promise<Site & { readonly tab: Watched }> {
  const it = await site(t);
  await put(it.it, { id: 'req_0000000a' });
  const tab = await openTab(await openBrowser(t), await it.link());
  await tab.locator('a[data-request]').waitFor();
  await tab.clock.install();
  await tab.clock.pauseAt(Date.now() + patience);
  await tab.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await tab.locator(ready).first().waitFor();
  return { ...it, tab };
}

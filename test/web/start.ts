/** A gateway with the page, and a browser that has logged in to it. */
import type { TestContext } from 'node:test';
import { openBrowser, openTab, type Watched } from './browser.ts';
import { site, type Site } from './support.ts';

export type Start = Site & { readonly tab: Watched; readonly open: (link?: string) => Promise<Watched> };

export async function start(t: TestContext, options: Parameters<typeof openTab>[2] = {}): Promise<Start> {
  const it = await site(t);
  const browser = await openBrowser(t);
  const open = async (link?: string) => openTab(browser, link ?? (await it.link()), options);
  const tab = await open();
  await tab.getByRole('heading', { name: 'Requests' }).waitFor();
  return { ...it, tab, open };
}

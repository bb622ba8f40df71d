/** Debian's Chromium, driven by playwright-core. */
import { createRequire } from 'node:module';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { needs } from '../support/real.ts';

const folder = process.env['WRAPTOOL_TEST_MODULES'];
const require = createRequire(folder === undefined ? import.meta.url : path.join(folder, 'x.js'));

/** What the tests use of it. */
export type Locator = {
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  check(): Promise<void>;
  count(): Promise<number>;
  first(): Locator;
  waitFor(options?: { state?: 'visible' | 'hidden' | 'attached' | 'detached' }): Promise<void>;
  innerText(): Promise<string>;
  textContent(): Promise<string | null>;
  inputValue(): Promise<string>;
  isEnabled(): Promise<boolean>;
  isDisabled(): Promise<boolean>;
  isVisible(): Promise<boolean>;
  selectOption(value: string): Promise<unknown>;
  boundingBox(): Promise<{ x: number; y: number; width: number; height: number } | null>;
  locator(selector: string): Locator;
  evaluate<T>(fn: (element: never) => T): Promise<T>;
};
export type Tab = Omit<Locator, 'click' | 'fill'> & {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  locator(selector: string): Locator;
  getByRole(role: string, options?: { name?: string | RegExp; exact?: boolean }): Locator;
  getByText(text: string | RegExp): Locator;
  waitForFunction(fn: string): Promise<unknown>;
  evaluate<T>(fn: string): Promise<T>;
  addScriptTag(options: { content: string }): Promise<unknown>;
  screenshot(options: { path: string; fullPage: boolean }): Promise<unknown>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(options: { colorScheme?: 'light' | 'dark'; reducedMotion?: 'reduce' }): Promise<void>;
  title(): Promise<string>;
  url(): string;
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  on(event: 'console' | 'pageerror' | 'request' | 'dialog', listener: (value: never) => void): void;
  context(): Context;
};
export type Context = {
  newPage(): Promise<Tab>;
  cookies(): Promise<unknown[]>;
  close(): Promise<void>;
};
type Browser = {
  newContext(options?: Record<string, unknown>): Promise<Context>;
  close(): Promise<void>;
};

/** Options for `test`: skipped with the reason where there is no Chromium to drive; an error in CI. */
export function needsBrowser(): { skip?: string } {
  try {
    require.resolve('playwright-core');
    require.resolve('axe-core');
  } catch (error) {
    const reason = `playwright-core and axe-core are not installed (${(error as NodeJS.ErrnoException).code})`;
    if (process.env['CI'] === 'true') throw new Error(`CI lacks them: ${reason}`, { cause: error });
    return { skip: reason };
  }
  return needs('chromium');
}

export async function openBrowser(t: Pick<TestContext, 'after'>): Promise<Browser> {
  const { chromium } = require('playwright-core') as {
    chromium: { launch(options: Record<string, unknown>): Promise<Browser> };
  };
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    // As root, which CI is, Chromium starts without its own sandbox only.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  t.after(() => browser.close());
  return browser;
}

export type Watched = Tab & {
  /** What the page did that it should not: script errors, console errors, requests to elsewhere, dialogs. */
  readonly misdeeds: string[];
};

/** A tab of its own login, watched. */
export async function openTab(
  browser: Browser,
  link: string,
  options: { width?: number; dark?: boolean } = {},
): Promise<Watched> {
  const { width = 1280, dark = false } = options;
  const context = await browser.newContext({
    viewport: { width, height: width < 500 ? 844 : 800 },
    colorScheme: dark ? 'dark' : 'light',
  });
  const tab = await context.newPage();
  const misdeeds: string[] = [];
  const { origin } = new URL(link);
  tab.on('pageerror', (error: Error) => void misdeeds.push(`error: ${error.message}`));
  tab.on('console', (message: { type(): string; text(): string }) => {
    // A refusal is an answer that the page shows.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) misdeeds.push(message.text());
  });
  tab.on('dialog', (dialog: { message(): string; dismiss(): Promise<void> }) => {
    misdeeds.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  tab.on('request', (request: { url(): string }) => {
    if (new URL(request.url()).origin !== origin) misdeeds.push(`asks ${request.url()}`);
  });
  await tab.goto(link);
  return Object.assign(tab, { misdeeds });
}

export const axeSource = (): string => require.resolve('axe-core/axe.min.js');

/** Debian's Chromium, driven by playwright-core. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import { needs } from '../support/real.ts';

const folder = process.env['WRAPTOOL_TEST_MODULES'];
const require = createRequire(folder === undefined ? import.meta.url : path.join(folder, 'x.js'));

/** What the tests use of it. */
export type Locator = {
  click(options?: { clickCount?: number }): Promise<void>;
  fill(text: string): Promise<void>;
  check(): Promise<void>;
  uncheck(): Promise<void>;
  isChecked(): Promise<boolean>;
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
  getByText(text: string | RegExp): Locator;
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
  goBack(): Promise<unknown>;
  goForward(): Promise<unknown>;
  route(url: (url: URL) => boolean, handler: (route: Route) => Promise<void>): Promise<void>;
  clock: {
    install(): Promise<void>;
    pauseAt(time: number): Promise<void>;
    runFor(ms: number): Promise<void>;
  };
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  on(event: 'console' | 'pageerror' | 'request' | 'dialog', listener: (value: never) => void): void;
  context(): Context;
};
export type Route = {
  continue(): Promise<void>;
  abort(): Promise<void>;
  fetch(): Promise<{ json(): Promise<unknown> }>;
  fulfill(options: { response?: unknown; json?: unknown; status?: number }): Promise<void>;
  request(): { method(): string; url(): string; postData(): string | null };
};
export type Context = {
  newPage(): Promise<Tab>;
  cookies(): Promise<unknown[]>;
  newCDPSession(tab: Tab): Promise<{
    send(method: string, params?: unknown): Promise<{ metrics: { name: string; value: number }[] }>;
  }>;
  close(): Promise<void>;
  setDefaultTimeout(ms: number): void;
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

let running: Promise<Browser> | null = null;
after(async () => (await running)?.close());

function launch(): Promise<Browser> {
  const { chromium } = require('playwright-core') as {
    chromium: { launch(options: Record<string, unknown>): Promise<Browser> };
  };
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    // As root, which CI is, Chromium starts without its own sandbox only.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    timeout: 120_000,
  });
}

/** One for all tests of a file, since its start takes long; what a test opens in it is closed with the test. */
export async function openBrowser(t: Pick<TestContext, 'after'>): Promise<Pick<Browser, 'newContext'>> {
  const browser = await (running ??= launch());
  return {
    async newContext(options) {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(60_000);
      t.after(() => context.close());
      return context;
    },
  };
}

export type Watched = Tab & {
  /** What the page did that it should not: script errors, console errors, requests to elsewhere, dialogs. */
  readonly misdeeds: string[];
};

/** A tab of its own login, watched. */
export async function openTab(
  browser: Pick<Browser, 'newContext'>,
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

export type Held = {
  /** Resolves when the page has asked. */
  readonly asked: Promise<void>;
  /** How often it has. */
  readonly times: () => number;
  /** Lets go of what was asked, and holds nothing any more; or has it fail. */
  readonly release: (how?: 'fail') => void;
};

/** Requests of the page to the API that fit wait until they are let go. `path` is what stands behind `api/`. */
export async function hold(tab: Tab, path: RegExp, method = 'GET'): Promise<Held> {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<'fail' | undefined>();
  let times = 0;
  const fits = ({ pathname, search }: URL) => {
    const [, name] = /\/api\/(.*)$/.exec(pathname + search) ?? [];
    return name !== undefined && path.test(name);
  };
  let over = false;
  await tab.route(fits, async (route) => {
    if (route.request().method() !== method || over) return route.continue();
    times += 1;
    asked.resolve();
    const how = await gate.promise;
    over = true;
    return how === 'fail' ? route.abort() : route.continue();
  });
  return { asked: asked.promise, times: () => times, release: (how) => gate.resolve(how) };
}

export const axeSource = (): string => require.resolve('axe-core/axe.min.js');

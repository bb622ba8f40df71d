/** The program under test: the checkout's bundles where script/test has made them, which is what users run; else its source. */
import { fileURLToPath } from 'node:url';

export const main =
  process.env['WRAPTOOL_MAIN'] ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Prints docs/config.md: node script/config-page.ts > docs/config.md, then prettier. */
import { configPage } from '../src/config/describe.ts';

process.stdout.write(configPage());

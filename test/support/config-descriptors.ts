/** Descriptors of the corpus's clients: the built-in one where it says where the config is, else one of the test's own. */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const builtIn = fileURLToPath(new URL('../../harnesses/', import.meta.url));
const sections = fileURLToPath(new URL('../fixtures/harness-config/', import.meta.url));

/** Writes into $XDG_CONFIG_HOME what no built-in descriptor has. */
export function completeDescriptors(xdgConfig: string): void {
  const own = path.join(xdgConfig, 'wraptool/harnesses');
  mkdirSync(own, { recursive: true });
  for (const file of existsSync(sections) ? readdirSync(sections) : []) {
    const given = path.join(builtIn, file);
    if (existsSync(given) && /^config:/m.test(readFileSync(given, 'utf8'))) continue;
    const name = path.basename(file, '.yaml');
    const head = `version: 1\nname: ${name}\ntitle: ${name}\nlist_changed: false\n`;
    writeFileSync(path.join(own, file), head + readFileSync(path.join(sections, file), 'utf8'));
  }
}

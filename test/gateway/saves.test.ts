/** 200 saves in each way that people's editors and deployments save: the gateway misses none and believes no invalid one. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { until } from '../support/until.ts';
import { call, connect, world, type World } from './support.ts';

const saves = 200;

/** A way to save: made once for a place, then given each new text. */
type Way = (it: World) => (text: string) => void;

const ways: Readonly<Record<string, Way>> = {
  'by rename': (it) => (text) => {
    fs.writeFileSync(`${it.config}.new`, text, { mode: 0o600 });
    fs.renameSync(`${it.config}.new`, it.config);
  },
  'in place': (it) => (text) => fs.writeFileSync(it.config, text),
  'by switching a link': (it) => {
    let version = 0;
    return (text) => {
      const target = path.join(it.dir, `config-${(version += 1)}.yaml`);
      fs.writeFileSync(target, text, { mode: 0o600 });
      fs.symlinkSync(target, `${it.config}.link`);
      fs.renameSync(`${it.config}.link`, it.config);
      fs.rmSync(path.join(it.dir, `config-${version - 1}.yaml`), { force: true });
    };
  },
};

async function allowed(client: Client, word: string): Promise<boolean> {
  const { structuredContent } = await call(client, 'wraptool_run', { tool: 'word', argv: [word] });
  return structuredContent?.['exit_code'] === 0;
}

describe('saves', { concurrency: true }, () => {
  for (const [name, way] of Object.entries(ways))
    test(`${saves} saves ${name}: each takes effect, and an invalid one changes nothing`, async (t) => {
      const it = world(t);
      const gateway = await it.serve();
      const client = await connect(t, gateway.ready.url ?? '', it.src);
      const text = fs.readFileSync(it.config, 'utf8');
      const save = way(it);
      for (let at = 1; at <= saves; at += 1) {
        // An invalid one between two valid ones: each tenth time.
        if (at % 10 === 0) {
          save(
            `${text}  word: { binary: /usr/bin/printf, allow: [{ args: [{ enum: [v${at}] }] }], nonsense: 1 }\n`,
          );
          await until(
            `invalid save ${at} is refused`,
            () => gateway.stderr().split('has 1 problem').length > at / 10,
          );
          assert.deepEqual(
            [await allowed(client, `v${at}`), await allowed(client, `v${at - 1}`)],
            [false, true],
          );
        }
        save(`${text}  word: { binary: /usr/bin/printf, allow: [{ args: [{ enum: [v${at}] }] }] }\n`);
        await until(`save ${at} counts`, () => allowed(client, `v${at}`));
        assert.equal(await allowed(client, `v${at - 1}`), false);
      }
    });
});

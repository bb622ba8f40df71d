/** Restarts under attack from inside: what a harness can reach of what restarts its gateway, and what it can hold up. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { main } from '../support/main.ts';
import { needs } from '../support/real.ts';
import { until } from './place.ts';
import { gatewayOf, now, session, type Json } from './restart-rig.ts';
import { runtimes } from './session.ts';

const real = { timeout: 180_000, ...needs('bubblewrap') };

/** What a harness can find, reach and change of what restarts its gateway. */
const search = `
const fs = require('node:fs'), net = require('node:net'), path = require('node:path');
const found = [];
const walk = (dir, depth) => {
  let entries = [];
  try { entries = fs.readdirSync(dir, { withFileTypes: true }); } catch { return; }
  for (const entry of entries) {
    const file = path.join(dir, entry.name);
    if (/^(control\\.sock|session\\.json|gateway-\\d+\\.sock|.*\\.turns|namespaces|events\\.jsonl)$/.test(entry.name)) found.push(file);
    else if (entry.isDirectory() && depth > 0 && !/^\\/(proc|sys|usr|nix|gnu)/.test(file)) walk(file, depth - 1);
  }
};
walk('/', 6);
const hosts = JSON.parse(process.argv[1]);
const env = Object.keys(process.env).filter((name) => /WRAPTOOL_(OPERATOR|RESTART|SESSION)/.test(name));
const write = (file) => { try { fs.writeFileSync(file, ''); return 'written'; } catch (error) { return error.code; } };
const take = (from, to) => { try { fs.renameSync(from, to); return 'taken'; } catch (error) { return error.code; } };
const reach = (file) => new Promise((resolve) => {
  const socket = net.connect(file, () => resolve('reached'));
  socket.on('error', (error) => resolve(error.code));
});
(async () => {
  const abstract = fs.readFileSync('/proc/net/unix', 'utf8').split('\\n').filter((line) => /wraptool/.test(line) && /@/.test(line));
  console.log(JSON.stringify({
    found, env, abstract,
    written: write('/run/wraptool/gateway.sock.next'),
    taken: take('/run/wraptool/gateway.sock', '/run/wraptool/other.sock'),
    probe: write('/opt/wraptool/relay/probe${path.extname(main)}'),
    node: write('/opt/wraptool/node/bin/node'),
    reached: await Promise.all(hosts.map(reach)),
  }));
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && Number(name) !== process.pid))
    if (/gateway|serve/.test(fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8'))) console.log('SEES ' + pid);
})();`;

describe('from inside', { concurrency: 2 }, () => {
  for (const { name: runtime, part } of runtimes)
    void test(
      `${runtime}: there is no way to the control socket, to the hook, to the probe or to the address's name`,
      { timeout: 180_000, ...needs(part) },
      async (t) => {
        const { where, dir } = await session(t, '', runtime);
        const hosts = [path.join(dir, 'control.sock'), path.join(dir, 'gateway-1.sock')];
        const words = [
          'exec',
          'life',
          '--',
          '/opt/wraptool/node/bin/node',
          '-e',
          search,
          JSON.stringify(hosts),
        ];
        const { stdout, stderr, code } = await where.wraptool(words);
        assert.equal(code, 0, stderr);
        assert.doesNotMatch(stdout, /SEES/);
        const { found, env, abstract, written, taken, probe, node, reached } = JSON.parse(
          stdout.split('\n')[0] ?? '',
        ) as Record<string, unknown>;
        assert.deepEqual([found, env, abstract], [[], [], []]);
        for (const verdict of [written, taken, probe, node])
          assert.match(String(verdict), /^(?:EROFS|EACCES|EPERM|EBUSY|ETXTBSY|EXDEV)$/, stdout);
        assert.deepEqual(reached, ['ENOENT', 'ENOENT']);
        assert.equal((await now(where)).code, 0);
      },
    );

  void test(
    'a harness that stops all that is in the runtime is not proven, and keeps no restart from being done',
    real,
    async (t) => {
      const { where } = await session(t);
      const stop = `for (const pid of require('node:fs').readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map(Number))
      if (pid !== process.pid) try { process.kill(pid, 'SIGSTOP'); } catch {}`;
      const stopping = where.start(['exec', 'life', '--', '/opt/wraptool/node/bin/node', '-e', stop]);
      t.after(() => stopping.kill('SIGKILL'));
      await until('it is stopped', async () => {
        const { stdout } = await where.wraptool(['exec', 'life', '--', 'true']).then(
          (result) => result,
          () => ({ stdout: '' }),
        );
        return stdout === '';
      });
      const before = await gatewayOf(where);
      const { code, json } = await now(where);
      const health = json['health'] as Json;
      assert.deepEqual([code, json['result'], health['mutations_allowed']], [1, 'restarted', false]);
      assert.notEqual(health['status'], 'clean');
      assert.notEqual(await gatewayOf(where), before);
    },
  );
});

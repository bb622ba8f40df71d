/** The program of the checks inside, run as it is: what it says of a clock, a time zone, a locale. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Finding } from '../../src/relay/preflight/types.ts';

const program = fileURLToPath(new URL('../../src/relay/preflight.ts', import.meta.url));
const workspace = realpathSync(mkdtempSync(path.join(tmpdir(), 'wraptool-preflight-')));
after(() => rmSync(workspace, { recursive: true, force: true }));

type Asked = {
  readonly zone?: string;
  readonly aheadMs?: number;
  readonly env?: Record<string, string>;
  /** On stdin, of the gateway. */
  readonly told?: string;
};

/** What it finds with this word's check; `aheadMs`: by how much the host's clock is before the one inside. */
async function found(
  check: string,
  { zone = 'UTC', aheadMs = 0, env = { TZ: zone }, told }: Asked,
): Promise<string[]> {
  const expected = {
    workspace,
    hostHome: '/nowhere',
    network: 'none',
    zone,
    now: Date.now() + aheadMs,
    terminal: null,
    named: [],
    probe: told === undefined ? { tool: 'wraptool_discover', config: '' } : null,
  };
  const running = promisify(execFile)(process.execPath, [program, JSON.stringify(expected)], {
    cwd: workspace,
    env: { HOME: workspace, PATH: '/usr/bin:/bin', ...env },
  });
  running.child.stdin?.on('error', () => undefined).end(told);
  const { stdout } = await running;
  const findings = JSON.parse(stdout) as Finding[];
  for (const { mend } of findings) assert.notEqual(mend, '');
  return findings.filter((one) => one.check === check).map(({ level, detail }) => `${level}: ${detail}`);
}

const hour = 3_600_000;
const other = ['warning: the clock inside is not the host’s'];
const cases: readonly [string, string, Asked, readonly string[]][] = [
  ['a clock that is the host’s is no finding', 'clock', {}, []],
  ['nor one that a slow start made half a minute late', 'clock', { aheadMs: -30_000 }, []],
  ['a clock that is an hour behind the host’s, as after a suspension', 'clock', { aheadMs: hour }, other],
  ['a clock that is an hour ahead', 'clock', { aheadMs: -hour }, other],
  [
    'a time zone that is not set',
    'clock',
    { zone: 'Europe/Berlin', env: {} },
    ['warning: the time zone is not set, not Europe/Berlin'],
  ],
  [
    'another time zone',
    'clock',
    { zone: 'Europe/Berlin', env: { TZ: 'Asia/Tokyo' } },
    ['warning: the time zone is Asia/Tokyo, not Europe/Berlin'],
  ],
  [
    'a time zone that programs do not know',
    'clock',
    { zone: 'Mars/Olympus_Mons' },
    ['warning: programs inside do not know the zone Mars/Olympus_Mons and show UTC'],
  ],
  ['UTC needs no data, by none of its names', 'clock', { zone: 'Etc/UTC' }, []],
  [
    'both at once are two findings',
    'clock',
    { aheadMs: hour, zone: 'Europe/Berlin', env: {} },
    [...other, 'warning: the time zone is not set, not Europe/Berlin'],
  ],
  ['no locale at all', 'locale', {}, ['warning: the locale is C: text other than ASCII may be garbled']],
  [
    'LC_ALL wins over LANG',
    'locale',
    { env: { LANG: 'C.UTF-8', LC_ALL: 'POSIX' } },
    ['warning: the locale is POSIX: text other than ASCII may be garbled'],
  ],
  ['a locale that programs know', 'locale', { env: { LANG: 'C.UTF-8' } }, []],
  [
    'a gateway that cannot be reached is a fault',
    'gateway',
    { env: { WRAPTOOL_SOCKET: '/nowhere/gateway.sock', WRAPTOOL_TOKEN: 'x' } },
    ['fault: it does not answer: ENOENT'],
  ],
  [
    'a gateway that nothing was said of is not taken to be there',
    'gateway',
    { told: '' },
    ['fault: could not be looked at: Unexpected end of JSON input'],
  ],
  [
    'nor one that half was said of',
    'gateway',
    { told: '{"tool":' },
    ['fault: could not be looked at: Unexpected end of JSON input'],
  ],
];

for (const [what, check, asked, expected] of cases)
  test(what, async () => {
    assert.deepEqual(await found(check, asked), expected);
  });

/** What a filter reads, and what a pattern leaves of it. */
import { excludesGateway, fileOwner, patternWidth } from '../gateway.ts';
import { isKnown } from '../holes.ts';
import type { Origin } from '../types.ts';
import type { Call } from './call.ts';
import { takeAll } from './shells.ts';

type Targets = Extract<Origin, { of: 'targets' }>;

/** The text that a filter works on: the files that it names, else standard input. */
export function inputOf(call: Call, files: readonly string[]): string {
  const named = files.filter((file) => file !== '-');
  return named.length === 0 ? takeAll(call.input) : named.map((file) => readFile(call, file)).join('');
}

function readFile({ m, input }: Call, file: string): string {
  if (file === '/dev/stdin' || file === '/dev/fd/0') return takeAll(input);
  const written = m.files.get(file);
  if (written !== undefined) return written;
  const owner = fileOwner(m, file);
  if (owner === 'unknown') return m.holes.unknown;
  return m.targets(owner === 'gateway' ? 'manual_daemon_kill' : null);
}

/** As lsof, ss and netstat show a gateway: on a port, on its run file, on a session's address. */
function socketLines(names: readonly string[]): string[] {
  const addresses = [...names.slice(0, 32), 'claude-app', 'codex-web'].flatMap((name) => [
    `/run/wraptool/${name}.sock`,
    `/run/user/1000/wraptool/${name}/socket/gateway.sock`,
  ]);
  const places = [
    'IPv4 1 0t0 TCP localhost:7777 127.0.0.1:7777 (LISTEN) tcp',
    ...addresses.map((address) => `unix 1 0t0 1 ${address} type=STREAM (LISTEN) u_str`),
  ];
  return ['node', 'wraptool', 'MainThread'].flatMap((name) =>
    places.map((place) => `${name} 4242 dev 18u ${place} LISTEN users:(("${name}",pid=4242,fd=18))`),
  );
}

/** Lines about processes, narrowed by a pattern; other text by its lines. */
export function narrowed(
  call: Call,
  text: string,
  pattern: string,
  how: { invert: boolean; anyCase: boolean },
): string {
  const { m } = call;
  if (isKnown(text)) {
    const test = m.patterns.compile(pattern, { anyCase: how.anyCase });
    const lines = text
      .split('\n')
      .filter((line, at, list) => (at < list.length - 1 || line !== '') && test(line) !== how.invert);
    return lines.map((line) => `${line}\n`).join('');
  }
  const about = m.holes.in(text).find((origin): origin is Targets => origin.of === 'targets');
  if (about === undefined || about.reason === null) return m.blurred(text);
  if (about.rows === undefined) return m.blurred(text);
  if (how.invert) return excludesGateway(m, pattern, how) ? m.targets(null, about.rows) : m.blurred(text);
  // A number may be the pid or the port of anything.
  if (!/[A-Za-z]{3}/.test(pattern.replace(/\[\[?:[a-z]+:\]?\]|\\[A-Za-z]|pid=|users?:/g, '')))
    return m.blurred(text);
  if (about.reason === 'container_kill')
    return m.targets(
      m.patterns.compile(pattern, how)('wraptool-claude-app running') ? 'container_kill' : null,
      about.rows,
    );
  if (about.rows === 'sockets')
    return m.targets(
      socketLines(m.known.names).some(m.patterns.compile(pattern, how)) ? about.reason : null,
      about.rows,
    );
  const width = patternWidth(m, pattern, { full: true, anyCase: how.anyCase });
  if (width === 'none') return m.targets(null, about.rows);
  return m.targets(
    width === 'fleet' && about.reason === 'fleet_kill'
      ? 'fleet_kill'
      : about.reason === 'fleet_kill'
        ? 'pattern_kill'
        : about.reason,
    about.rows,
  );
}

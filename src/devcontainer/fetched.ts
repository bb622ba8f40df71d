/** Addresses that a Dockerfile's ADD makes the engine fetch: the engine does that from the host's own network. Pure. */
import { BlockList, isIP } from 'node:net';
import { instructions } from './dockerfile.ts';

export type Fetched = {
  readonly address: string;
  /** Where the address leads to the host or its own network, or nobody can say where. */
  readonly near: boolean;
};

const mostRounds = 5;

export function fetched(text: string): readonly Fetched[] {
  const lines = instructions(text);
  const values = new Map(lines.flatMap(defaults));
  return lines.flatMap((line) => {
    const rest = /^(?:ONBUILD\s+)?ADD\s+([^]*)$/i.exec(line)?.[1] ?? '';
    return words(rest)
      .slice(0, -1)
      .map((word) => filled(word, values))
      .filter((word) => /^([a-z][a-z0-9+.-]*:\/\/|git@)/i.test(word))
      .map((address) => ({ address, near: isNear(address) }));
  });
}

/** Words of an ADD, its options left out; the JSON form too. */
function words(rest: string): readonly string[] {
  return rest
    .replace(/^(--\S+\s+)*\[|\]\s*$/g, '')
    .split(/[\s,]+/)
    .map((word) => word.replace(/^["']|["']$/g, ''))
    .filter((word) => word !== '' && !word.startsWith('--'));
}

/** `ARG NAME=VALUE` and `ENV NAME=VALUE`, `ENV NAME VALUE`. */
function defaults(line: string): (readonly [string, string])[] {
  const rest = /^(?:ARG|ENV)\s+([^]*)$/i.exec(line)?.[1] ?? '';
  const old = /^(\w+)\s+([^=]+)$/.exec(rest);
  if (old !== null) return [[old[1] as string, (old[2] as string).trim()]];
  return [...rest.matchAll(/(\w+)=("[^"]*"|'[^']*'|\S*)/g)].map(
    ([, name = '', value = '']) => [name, value.replace(/^["']|["']$/g, '')] as const,
  );
}

function filled(word: string, values: ReadonlyMap<string, string>): string {
  let text = word;
  for (let round = 0; round < mostRounds && text.includes('$') && text.length < 4096; round += 1)
    text = text.replace(
      /\$(?:\{(\w+)(?::?[-+]([^}]*))?\}|(\w+))/g,
      (whole, braced?: string, other?: string, bare?: string) =>
        values.get(braced ?? bare ?? '') ?? other ?? whole,
    );
  return text;
}

const own = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  own.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  own.addSubnet(net, bits, 'ipv6');

function isNear(address: string): boolean {
  const text = address.replace(/^git@([^:/]+)[:/]/, 'ssh://git@$1/');
  // Another scheme's host would not be normalised as the engine's own client does it.
  const url = URL.parse(text.replace(/^[a-z][a-z0-9+.-]*:/i, 'http:'));
  if (url === null || /\$|%24/i.test(url.host)) return true;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return own.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
  return !host.includes('.') || /\.(localhost|local|internal|lan|home|corp)$/.test(host);
}

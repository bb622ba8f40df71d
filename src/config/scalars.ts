/** Text forms of the config's values. */

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const sizes: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

/** "60s" -> milliseconds, or null. */
export function parseDuration(text: string): number | null {
  const found = /^([1-9][0-9]{0,8})(ms|s|m|h)$/.exec(text);
  const value = found ? Number(found[1]) * (units[found[2] ?? ''] ?? 0) : 0;
  return value > 0 && value <= 24 * 3_600_000 ? value : null;
}

/** "1MiB" -> bytes, or null. */
export function parseSize(text: string): number | null {
  const found = /^([1-9][0-9]{0,9})(B|KiB|MiB|GiB|kB|MB|GB)$/.exec(text);
  const value = found ? Number(found[1]) * (sizes[found[2] ?? ''] ?? 0) : 0;
  return value > 0 && value <= 1024 ** 3 ? value : null;
}

/** "127.0.0.1:0" or "[::1]:0" -> host and port, or null. */
export function parseListen(text: string): { host: string; port: number } | null {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(0|[1-9][0-9]{0,4})$/.exec(text);
  const port = Number(found?.[3]);
  return found && port <= 65535 ? { host: found[1] ?? found[2] ?? '', port } : null;
}

/** As parseListen, but only what no other machine can reach. */
export function parseLoopback(text: string): { host: string; port: number } | null {
  const listen = parseListen(text);
  return listen !== null && /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/.test(listen.host) ? listen : null;
}

/** `~` and `~/…` under HOME; anything else as it is. */
export function expandHome(text: string, home: string): string {
  return text === '~' ? home : text.startsWith('~/') ? `${home}${text.slice(1)}` : text;
}

import { closeSync, constants, existsSync, openSync, readdirSync } from 'node:fs';
import { isatty, WriteStream } from 'node:tty';
import type { Env, Expected, Finding } from './types.ts';

/** A start under load takes its time; a clock that is wrong is so by more. */
const driftMs = 60_000;
const zones = '/usr/share/zoneinfo';
const locales = '/usr/lib/locale';
const terminals = ['/etc/terminfo', '/lib/terminfo', '/usr/share/terminfo', '/usr/lib/terminfo'];

export function checkClock({ zone, now }: Expected, env: Env): Finding[] {
  const warning = (detail: string, mend: string): Finding => ({
    check: 'clock',
    level: 'warning',
    detail,
    mend,
  });
  const found: Finding[] = [];
  if (Math.abs(Date.now() - now) > driftMs)
    found.push(warning('the clock inside is not the host’s', 'set the clock of the machine that it runs on'));
  if (env['TZ'] !== zone)
    found.push(
      warning(`the time zone is ${env['TZ'] ?? 'not set'}, not ${zone}`, 'take TZ out of the image'),
    );
  else if (!/^(Etc\/)?(UTC|GMT)$/.test(zone) && !existsSync(`${zones}/${zone}`))
    found.push(
      warning(
        `programs inside do not know the zone ${zone} and show UTC`,
        'install tzdata in the base image (guix: in the manifest)',
      ),
    );
  return found;
}

export function checkLocale(env: Env): Finding[] {
  const wanted = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'C';
  if (!/utf-?8$/i.test(wanted))
    return [
      {
        check: 'locale',
        level: 'warning',
        detail: `the locale is ${wanted}: text other than ASCII may be garbled`,
        mend: 'take LC_ALL and LC_CTYPE out of the image, or set them to C.UTF-8',
      },
    ];
  if (knowsLocale(wanted)) return [];
  return [
    {
      check: 'locale',
      level: 'warning',
      detail: `programs inside do not know the locale ${wanted}`,
      mend: 'install its definition in the base image (Debian: libc-bin or locales; guix: in the manifest)',
    },
  ];
}

/** C.UTF-8 is part of glibc from 2.35 on. */
function knowsLocale(name: string): boolean {
  const plain = (word: string): string => word.toLowerCase().replace('utf-8', 'utf8');
  const there = existsSync(locales) ? readdirSync(locales) : [];
  if (there.includes('locale-archive') || there.some((entry) => plain(entry) === plain(name))) return true;
  return plain(name) === 'c.utf8' && (there.length === 0 || glibc() >= 235);
}

function glibc(): number {
  // Without it the report looks up names of all open connections. Not in the types yet.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const [major = 0, minor = 0] = (header.glibcVersionRuntime ?? '0.0').split('.').map(Number);
  return major * 100 + minor;
}

export function checkTerminal({ terminal }: Expected, env: Env): Finding[] {
  if (terminal === null) return [];
  const warning = (detail: string, mend: string): Finding => ({
    check: 'terminal',
    level: 'warning',
    detail,
    mend,
  });
  const found: Finding[] = [];
  const name = env['TERM'] ?? '';
  if (!/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(name) || name === 'dumb')
    found.push(
      warning(`TERM is "${name}": no colours, no full screen`, 'set TERM, for example to xterm-256color'),
    );
  else if (!terminals.some((dir) => described(dir, name)))
    found.push(
      warning(
        `programs inside do not know the terminal ${name}`,
        'install ncurses-term in the base image (guix: in the manifest), or start with TERM=xterm-256color',
      ),
    );
  const size = terminal.own ? ownTerminal() : sharedTerminal();
  if (size !== null && (size[0] !== terminal.columns || size[1] !== terminal.rows))
    found.push(
      warning(
        `the terminal inside has ${size[0]}x${size[1]}, yours ${terminal.columns}x${terminal.rows}`,
        'change the size of the window once',
      ),
    );
  return found;
}

function described(dir: string, name: string): boolean {
  const first = name[0]!;
  return [first, first.charCodeAt(0).toString(16)].some((letter) => existsSync(`${dir}/${letter}/${name}`));
}

function ownTerminal(): [number, number] | null {
  return process.stdout.isTTY ? process.stdout.getWindowSize() : null;
}

/** bubblewrap shows the operator's terminal there. */
function sharedTerminal(): [number, number] | null {
  let fd;
  try {
    fd = openSync('/dev/console', constants.O_RDWR | constants.O_NOCTTY);
  } catch {
    // Not there, or another user's: then there is nothing to compare.
    return null;
  }
  if (isatty(fd)) {
    const terminal = new WriteStream(fd);
    const size = terminal.getWindowSize();
    terminal.destroy();
    return size;
  }
  closeSync(fd);
  return null;
}

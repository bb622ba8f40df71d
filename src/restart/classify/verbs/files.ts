/** What a redirection or tee writes: kept for what reads it, and the few files where writing is a kill. */
import { containerReason, unitReason } from '../gateway.ts';
import { childShell, type Machine, type Shell } from '../machine.ts';

/** Called for each file that is written with known or unknown content. */
export function wroteFile(m: Machine, shell: Shell, name: string, content: string, append: boolean): void {
  if (name === '/dev/null') return;
  if (/^\/proc\/sysrq-trigger$/.test(name) && /[bcoeifu]/.test(content)) m.hit(shell, 'fleet_kill');
  if (/\/cgroup\.(?:kill|freeze)$/.test(name) && !/^\s*0\s*$/.test(content))
    m.hit(shell, cgroupReason(m, name));
  if (/^\/etc\/cron(?:tab$|\.d\/)|^\/var\/spool\/cron\//.test(name)) runSchedule(m, shell, content, true);
  const before = append ? (m.files.get(name) ?? '') : '';
  m.files.set(name, m.bounded(before + content));
}

function cgroupReason(m: Machine, name: string) {
  if (/user(?:-\d+)?\.slice\/cgroup|user@\d+\.service\/cgroup|^\/sys\/fs\/cgroup\/cgroup/.test(name))
    return 'fleet_kill';
  return unitReason(m, name.split('/').at(-2) ?? '') ?? containerReason(m, name.split('/').at(-2) ?? '');
}

/** Lines of a crontab: five fields or @WHEN, in the system's own one a user, then shell text. */
export function runSchedule(m: Machine, shell: Shell, text: string, system: boolean): void {
  for (const line of text.split('\n')) {
    const fields = /^\s*(?:@\w+|(?:[\d*/,A-Za-z-]+\s+){4}[\d*/,A-Za-z-]+)\s+([^]*)$/.exec(
      line.replace(/^[\ue000-\uf8ff]+/, ''),
    )?.[1];
    if (fields === undefined || /^\s*#/.test(line)) continue;
    m.text(system ? fields.replace(/^[\w-]+\s+/, '') : fields, childShell(shell), { rest: '' });
  }
}

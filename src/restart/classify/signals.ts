/** Names and numbers of signals, and which of them end nothing. */

const names = [
  'HUP INT QUIT ILL TRAP ABRT IOT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CLD CONT STOP TSTP TTIN TTOU',
  'URG XCPU XFSZ VTALRM PROF WINCH IO POLL PWR SYS UNUSED LOST INFO EMT EXIT NULL RTMIN RTMAX',
]
  .join(' ')
  .split(' ');

const known = new Set(names);
/** By default they are ignored, or continue what was stopped; 0 only asks. */
const harmless = new Set([
  '0',
  'EXIT',
  'NULL',
  '17',
  'CHLD',
  'CLD',
  '18',
  'CONT',
  '23',
  'URG',
  '28',
  'WINCH',
]);

function bare(signal: string): string {
  return signal
    .trim()
    .toUpperCase()
    .replace(/^SIG/, '')
    .replace(/^0+(?=\d)/, '');
}

/** Whether it is the name or number of a signal; numbers to 64. */
export function isSignal(text: string): boolean {
  const name = bare(text).replace(/^(RTMIN|RTMAX)[+-]\d{1,2}$/, '$1');
  return known.has(name) || (/^\d{1,3}$/.test(name) && Number(name) <= 64);
}

export function isHarmless(signal: string): boolean {
  return harmless.has(bare(signal));
}

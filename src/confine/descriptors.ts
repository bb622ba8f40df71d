import { openSync, readdirSync, readFileSync } from 'node:fs';

const O_CLOEXEC = 0o2000000;

let inherited: readonly number[] | undefined;
let nothing: number | undefined;

/**
 * Descriptors above 2 that a child would inherit: whoever started this process left them open (a lock, a log, a
 * socket). Node opens everything close-on-exec, so what is found once stays true.
 */
export function inheritedDescriptors(): readonly number[] {
  inherited ??= readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && passedOn(fd));
  return inherited;
}

/** A descriptor of /dev/null, to be put over an inherited one in a child. */
export function nullDescriptor(): number {
  nothing ??= openSync('/dev/null', 'r+');
  return nothing;
}

function passedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'));
    return flags !== null && (Number.parseInt(flags[1]!, 8) & O_CLOEXEC) === 0;
  } catch (error) {
    // The descriptor of the listing itself is gone by now.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

import { WraptoolError } from '../errors.ts';

/**
 * The classic BPF program given to `bwrap --seccomp`. It allows everything but what reaches past the namespaces:
 * terminal injection, facilities that the kernel does not namespace, and sockets of unusual families.
 * Numbers: linux/audit.h, asm/unistd_64.h, asm-generic/unistd.h.
 */

type Table = Readonly<Record<string, number>>;

const arches: Readonly<Record<string, { audit: number; table: Table }>> = {
  x64: {
    audit: 0xc000003e,
    table: {
      open: 2,
      ioctl: 16,
      socket: 41,
      clone: 56,
      creat: 85,
      chmod: 90,
      fchmod: 91,
      syslog: 103,
      mknod: 133,
      init_module: 175,
      delete_module: 176,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      openat: 257,
      mknodat: 259,
      fchmodat: 268,
      unshare: 272,
      perf_event_open: 298,
      open_by_handle_at: 304,
      finit_module: 313,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      clone3: 435,
      openat2: 437,
      fchmodat2: 452,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    table: {
      ioctl: 29,
      mknodat: 33,
      fchmod: 52,
      fchmodat: 53,
      openat: 56,
      socket: 198,
      clone: 220,
      syslog: 116,
      init_module: 105,
      delete_module: 106,
      kexec_load: 104,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      unshare: 97,
      perf_event_open: 241,
      open_by_handle_at: 265,
      finit_module: 273,
      kexec_file_load: 294,
      bpf: 280,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      clone3: 435,
      openat2: 437,
      fchmodat2: 452,
    },
  },
};

/**
 * Refused whatever the arguments. Keyrings hold the operator's tickets and keys and belong to the uid, not to a
 * namespace; the kernel log, perf, modules and kexec are the machine's; bpf, userfaultfd and io_uring are where
 * kernel exploits start, and io_uring does its work where this filter does not look.
 */
const refused = [
  'keyctl',
  'add_key',
  'request_key',
  'syslog',
  'perf_event_open',
  'bpf',
  'userfaultfd',
  'io_uring_setup',
  'io_uring_enter',
  'io_uring_register',
  'open_by_handle_at',
  'init_module',
  'finit_module',
  'delete_module',
  'kexec_load',
  'kexec_file_load',
] as const;

/** Which argument is the mode; for those that open, which are the flags. */
const modeSetters: Readonly<Record<string, { readonly mode: number; readonly flags?: number }>> = {
  chmod: { mode: 1 },
  fchmod: { mode: 1 },
  fchmodat: { mode: 2 },
  fchmodat2: { mode: 2 },
  mknod: { mode: 1 },
  mknodat: { mode: 2 },
  creat: { mode: 1 },
  open: { flags: 1, mode: 2 },
  openat: { flags: 2, mode: 3 },
};
const S_ISUID = 0o4000;
const S_ISGID = 0o2000;
/** Only with one of these is the mode an argument at all. */
const O_CREAT_OR_TMPFILE = 0o100 | 0o20000000;

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const CLONE_NEWUSER = 0x10000000;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others (AF_VSOCK above all) are not held by a network namespace. */
const families = [1, 2, 10, 16];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const RET_ALLOW = 0x7fff0000;
const RET_KILL_PROCESS = 0x80000000;
const RET_ERRNO = 0x00050000;

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JEQ = 0x15;
const JGE = 0x35;
const JSET = 0x45;
const RET = 0x06;

/** Offsets in struct seccomp_data; low halves of the arguments (both architectures are little endian). */
const NR = 0;
const ARCH = 4;
const ARG0 = 16;
const ARG1 = 24;
const argument = (index: number): number => ARG0 + 8 * index;

type Instruction = readonly [code: number, jt: number, jf: number, k: number];

export type FilterOptions = {
  /** User namespaces may be made. */
  readonly nestedSandboxes: boolean;
  /** Set-group-id bits may be set, as a repository that a group shares has them on its folders. */
  readonly setgid: boolean;
};

/**
 * The filter for this machine, as bytes of `struct sock_filter`.
 * Throws confine_unavailable on an architecture whose system call numbers are not in the table.
 */
export function seccompFilter(options: FilterOptions, arch: string = process.arch): Buffer {
  const known = arches[arch];
  if (known === undefined) {
    throw new WraptoolError('confine_unavailable', `there is no system call filter for '${arch}'`, {
      hint: 'run on x86-64 or arm64',
    });
  }
  return encode(assemble(known.audit, known.table, arch === 'x64', options));
}

function assemble(audit: number, table: Table, x32: boolean, options: FilterOptions): Instruction[] {
  const nr = (name: string): number => table[name]!;
  const out: Instruction[] = [
    [LOAD, 0, 0, ARCH],
    [JEQ, 1, 0, audit],
    [RET, 0, 0, RET_KILL_PROCESS],
    [LOAD, 0, 0, NR],
  ];
  // The x32 ABI has numbers of its own for the same calls: as on a kernel built without it.
  if (x32) out.push([JGE, 0, 1, 0x40000000], errno(ENOSYS));
  for (const name of refused) out.push([JEQ, 0, 1, nr(name)], errno(EPERM));
  // The kernel looks at 32 bits of the request only, so the high half must not decide.
  out.push(...when(nr('ioctl'), [[LOAD, 0, 0, ARG1], ...errnoIf([TIOCSTI, TIOCLINUX], EPERM), allow]));
  out.push(...when(nr('socket'), [[LOAD, 0, 0, ARG0], ...allowIf(families), errno(EAFNOSUPPORT)]));
  out.push(...modeRules(table, S_ISUID | (options.setgid ? 0 : S_ISGID)));
  if (!options.nestedSandboxes) {
    const noUser: Instruction[] = [[LOAD, 0, 0, ARG0], [JSET, 0, 1, CLONE_NEWUSER], errno(EPERM), allow];
    out.push(...when(nr('unshare'), noUser), ...when(nr('clone'), noUser));
    // Its flags lie behind a pointer; libc goes on with clone.
    out.push(...when(nr('clone3'), [errno(ENOSYS)]));
  }
  out.push(allow);
  return out;
}

/**
 * A writable folder is the host's too: a set-user-id file of the operator's in it would be his identity for every other
 * user of the machine.
 */
function modeRules(table: Table, bits: number): Instruction[] {
  const rules = Object.entries(modeSetters).flatMap(([name, { flags, mode }]) => {
    const number = table[name];
    if (number === undefined) return [];
    const judged: Instruction[] = [[LOAD, 0, 0, argument(mode)], [JSET, 0, 1, bits], errno(EPERM), allow];
    const makes: Instruction[] =
      flags === undefined
        ? []
        : [
            [LOAD, 0, 0, argument(flags)],
            [JSET, 0, judged.length - 1, O_CREAT_OR_TMPFILE],
          ];
    return when(number, [...makes, ...judged]);
  });
  // Its mode lies behind a pointer; programs go on with openat.
  return [...rules, ...when(table['openat2']!, [errno(ENOSYS)])];
}

const allow: Instruction = [RET, 0, 0, RET_ALLOW];

function errno(number: number): Instruction {
  return [RET, 0, 0, RET_ERRNO | number];
}

/** The body, which always returns, for one system call; the accumulator holds its number. */
function when(nr: number, body: readonly Instruction[]): Instruction[] {
  return [[JEQ, 0, body.length, nr], ...body];
}

function errnoIf(values: readonly number[], number: number): Instruction[] {
  return values.flatMap((value): Instruction[] => [[JEQ, 0, 1, value], errno(number)]);
}

function allowIf(values: readonly number[]): Instruction[] {
  return values.flatMap((value): Instruction[] => [[JEQ, 0, 1, value], allow]);
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jt, jf, k], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jt, index * 8 + 2);
    bytes.writeUInt8(jf, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  });
  return bytes;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seccompFilter } from '../../src/confine/seccomp.ts';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;

/** A classic BPF machine, for the four instructions that the filter has. */
function judge(filter: Buffer, arch: number, nr: number, args: readonly bigint[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr >>> 0, 0);
  data.writeUInt32LE(arch >>> 0, 4);
  args.forEach((arg, index) => data.writeBigUInt64LE(BigInt.asUintN(64, arg), 16 + index * 8));
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const code = filter.readUInt16LE(at * 8);
    const [jt, jf] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)];
    const k = filter.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return k;
    else if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x15) at += accumulator === k ? jt : jf;
    else if (code === 0x35) at += accumulator >= k ? jt : jf;
    else if (code === 0x45) at += (accumulator & k) !== 0 ? jt : jf;
    else throw new Error(`instruction ${code}`);
  }
}

const machines = [
  {
    arch: 'x64',
    audit: 0xc000003e,
    ioctl: 16,
    socket: 41,
    clone: 56,
    unshare: 272,
    keyctl: 250,
    bpf: 321,
    fchmod: 91,
    fchmodat: 268,
    openat: 257,
    mknodat: 259,
    read: 0,
  },
  {
    arch: 'arm64',
    audit: 0xc00000b7,
    ioctl: 29,
    socket: 198,
    clone: 220,
    unshare: 97,
    keyctl: 219,
    bpf: 280,
    fchmod: 52,
    fchmodat: 53,
    openat: 56,
    mknodat: 33,
    read: 63,
  },
];

for (const m of machines) {
  const strict = seccompFilter({ nestedSandboxes: false, setgid: false }, m.arch);
  const nested = seccompFilter({ nestedSandboxes: true, setgid: false }, m.arch);
  const cases: [string, number, number, bigint[], number][] = [
    ['an ordinary call passes', m.audit, m.read, [], ALLOW],
    ['TIOCSTI is refused', m.audit, m.ioctl, [0n, 0x5412n], EPERM],
    ['TIOCLINUX is refused', m.audit, m.ioctl, [0n, 0x541cn], EPERM],
    [
      'TIOCSTI with a high half, which the kernel cuts off, is refused',
      m.audit,
      m.ioctl,
      [0n, 0xdead_0000_5412n],
      EPERM,
    ],
    ['TIOCSTI as a negative number is refused', m.audit, m.ioctl, [0n, -(2n ** 32n) + 0x5412n], EPERM],
    ['TIOCGWINSZ passes', m.audit, m.ioctl, [0n, 0x5413n], ALLOW],
    ['keyrings are refused', m.audit, m.keyctl, [], EPERM],
    ['bpf is refused', m.audit, m.bpf, [], EPERM],
    ['io_uring is refused', m.audit, 425, [], EPERM],
    ['a Unix socket passes', m.audit, m.socket, [1n], ALLOW],
    ['an IPv6 socket passes', m.audit, m.socket, [10n], ALLOW],
    ['a vsock, which no network namespace holds, is refused', m.audit, m.socket, [40n], EAFNOSUPPORT],
    ['AF_ALG is refused', m.audit, m.socket, [38n], EAFNOSUPPORT],
    ['a fork passes', m.audit, m.clone, [0x11n], ALLOW],
    ['an ordinary mode is set', m.audit, m.fchmod, [3n, 0o1777n], ALLOW],
    ['a set-user-id bit is not', m.audit, m.fchmod, [3n, 0o4755n], EPERM],
    ['nor through a folder', m.audit, m.fchmodat, [3n, 0n, 0o4755n], EPERM],
    ['nor by the newest call', m.audit, 452, [3n, 0n, 0o4755n], EPERM],
    ['nor with a new node', m.audit, m.mknodat, [3n, 0n, 0o104755n], EPERM],
    ['nor with a new file', m.audit, m.openat, [3n, 0n, 0o101n, 0o4755n], EPERM],
    ['nor with a file without a name', m.audit, m.openat, [3n, 0n, 0o20200002n, 0o4755n], EPERM],
    ['without a new file the mode is no argument', m.audit, m.openat, [3n, 0n, 0o2n, 0o4755n], ALLOW],
    ['a new file of an ordinary mode is made', m.audit, m.openat, [3n, 0n, 0o101n, 0o755n], ALLOW],
    ['the open whose mode cannot be seen does not exist', m.audit, 437, [3n, 0n, 0n, 24n], ENOSYS],
    ['another architecture is killed', 0x40000003, m.read, [], KILL],
  ];
  for (const [name, arch, nr, args, expected] of cases) {
    test(`${m.arch}: ${name}`, () => {
      assert.equal(judge(strict, arch, nr, args), expected);
      assert.equal(judge(nested, arch, nr, args), expected);
    });
  }

  test(`${m.arch}: user namespaces only where they were asked for`, () => {
    assert.equal(judge(strict, m.audit, m.unshare, [0x10000000n]), EPERM);
    assert.equal(judge(strict, m.audit, m.clone, [0x10000011n]), EPERM);
    assert.equal(judge(strict, m.audit, 435), ENOSYS);
    assert.equal(judge(nested, m.audit, m.unshare, [0x10000000n]), ALLOW);
    assert.equal(judge(nested, m.audit, 435), ALLOW);
    assert.equal(judge(strict, m.audit, m.unshare, [0x20000n]), ALLOW);
  });
}

for (const m of machines)
  test(`${m.arch}: set-group-id bits only where a group shares the folder`, () => {
    const shared = seccompFilter({ nestedSandboxes: false, setgid: true }, m.arch);
    const own = seccompFilter({ nestedSandboxes: false, setgid: false }, m.arch);
    assert.equal(judge(own, m.audit, m.fchmod, [3n, 0o2775n]), EPERM);
    assert.equal(judge(shared, m.audit, m.fchmod, [3n, 0o2775n]), ALLOW);
    assert.equal(judge(shared, m.audit, m.fchmod, [3n, 0o6775n]), EPERM);
  });

test('x64: the x32 numbers of the same calls do not exist', () => {
  const filter = seccompFilter({ nestedSandboxes: true, setgid: false }, 'x64');
  assert.equal(judge(filter, 0xc000003e, 0x40000000 + 514, [0n, 0x5412n]), ENOSYS);
  assert.equal(judge(filter, 0xc000003e, 0x40000000), ENOSYS);
});

test('an architecture without a table is refused, not let through', () => {
  assert.throws(() => seccompFilter({ nestedSandboxes: false, setgid: false }, 'riscv64'), {
    code: 'confine_unavailable',
  });
});

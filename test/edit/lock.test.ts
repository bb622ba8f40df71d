import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { takeClaim } from '../../src/edit/lock.ts';
import { needs } from '../support/real.ts';
import { scratch } from '../support/scratch.ts';
import { faultyDisk } from './faulty-disk.ts';

/** The name of a claim on "a" as that process would make it. */
function claimOf(pid: number, start: string, kind: string): string {
  const hash = createHash('sha256').update('a').digest('hex').slice(0, 12);
  return `.wraptool-${hash}-0000000000000000-${pid}-${start}.${kind}`;
}

function startTime(pid: number): string {
  return (
    readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19] ?? ''
  );
}

void describe('a claim', () => {
  void test('is held by one at a time, however many want it', async () => {
    const dir = scratch();
    let holders = 0;
    let turns = 0;
    const worker = async (): Promise<void> => {
      for (let left = 5; left > 0; left -= 1) {
        const claim = await takeClaim(path.join(dir, 'a'), fs);
        holders += 1;
        assert.equal(holders, 1);
        for (let wait = 0; wait < 5; wait += 1) await setImmediate();
        turns += 1;
        holders -= 1;
        await claim.release();
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    assert.deepEqual([turns, readdirSync(dir)], [40, []]);
  });
  void test('on one file does not wait for one on another', async () => {
    const dir = scratch();
    const one = await takeClaim(path.join(dir, 'a'), fs);
    const other = await takeClaim(path.join(dir, 'b'), fs);
    await one.release();
    await other.release();
    assert.deepEqual(readdirSync(dir), []);
  });
  void test('of a process that is gone is swept away, with its temporary file; other names are left', async () => {
    const dir = scratch();
    const gone = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    await once(gone, 'exit');
    for (const name of [
      claimOf(gone.pid ?? 0, '1', 'lock'),
      claimOf(gone.pid ?? 0, '1', 'tmp'),
      '.wraptool-x.lock',
      'a',
    ])
      writeFileSync(path.join(dir, name), '');
    await (await takeClaim(path.join(dir, 'a'), fs)).release();
    assert.deepEqual(readdirSync(dir).sort(), ['.wraptool-x.lock', 'a']);
  });
  void test(
    'of a living process whose number was used before by the claim’s is swept away too',
    needs('linux'),
    async () => {
      const dir = scratch();
      writeFileSync(path.join(dir, claimOf(process.pid, '1', 'lock')), '');
      await (await takeClaim(path.join(dir, 'a'), fs)).release();
      assert.deepEqual(readdirSync(dir), []);
    },
  );
  void test('of another process is waited for until that one dies', needs('linux'), async () => {
    const dir = scratch();
    const holder = spawn('cat', [], { stdio: ['pipe', 'ignore', 'ignore'] });
    await once(holder, 'spawn');
    const pid = holder.pid ?? 0;
    writeFileSync(path.join(dir, claimOf(pid, startTime(pid), 'lock')), '');
    let looks = 0;
    const disk = faultyDisk((call) => {
      if (call !== 'readdir') return;
      looks += 1;
      if (looks === 3) holder.kill('SIGKILL');
    });
    const claim = await takeClaim(path.join(dir, 'a'), disk);
    assert.ok(looks > 3);
    await claim.release();
    assert.deepEqual(readdirSync(dir), []);
  });
});

/** Links, logins, and guessing, by a clock of our own. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createLogins, loginLimits } from '../../src/web/logins.ts';

function clocked(t: { after(fn: () => void): void }) {
  const clock = { now: 0 };
  const logins = createLogins(() => clock.now);
  t.after(() => logins.close());
  return { clock, logins };
}

const enter = (logins: ReturnType<typeof createLogins>, role: 'operator' | 'viewer' = 'operator') => {
  const given = logins.exchange(logins.invite(role));
  assert.equal(given.kind, 'in');
  return given as Extract<typeof given, { kind: 'in' }>;
};

test('a link is good for one login', (t) => {
  const { logins } = clocked(t);
  const secret = logins.invite('viewer');
  const first = logins.exchange(secret);
  assert.equal(first.kind === 'in' && first.login.role, 'viewer');
  assert.equal(logins.exchange(secret).kind, 'refused');
});

test('secrets and tokens have 256 bits, and no two are the same', (t) => {
  const { logins } = clocked(t);
  const made = [logins.invite('viewer'), logins.invite('viewer'), enter(logins).token, enter(logins).token];
  assert.equal(new Set(made).size, 4);
  for (const one of made) assert.equal(Buffer.from(one, 'base64url').length, 32);
});

test('a link that was not used in time is refused', (t) => {
  const { clock, logins } = clocked(t);
  const secret = logins.invite('operator');
  clock.now += loginLimits.linkLifeMs;
  assert.equal(logins.exchange(secret).kind, 'refused');
});

test('a login ends when it was not used for an hour, and after twelve in any case', (t) => {
  const { clock, logins } = clocked(t);
  const idle = enter(logins);
  clock.now += loginLimits.idleMs;
  assert.equal(logins.of(idle.token), null);
  assert.equal(idle.login.ended.aborted, true);
  const busy = enter(logins);
  for (let spent = 0; spent < loginLimits.lifeMs; spent += loginLimits.idleMs / 2) {
    assert.equal(logins.of(busy.token)?.role, 'operator');
    clock.now += loginLimits.idleMs / 2;
  }
  assert.equal(logins.of(busy.token), null);
});

test('logging out ends the login and what is open of it', (t) => {
  const { logins } = clocked(t);
  const { token, login } = enter(logins);
  logins.end(token);
  assert.equal(logins.of(token), null);
  assert.equal(login.ended.aborted, true);
});

test('after ten wrong secrets in a minute the next wrong one is told to wait; the right one still gets in', (t) => {
  const { clock, logins } = clocked(t);
  for (let guess = 0; guess < loginLimits.failures; guess += 1)
    assert.equal(logins.exchange(`guess ${guess}`).kind, 'refused');
  const late = logins.exchange('another');
  assert.equal(late.kind, 'too often');
  assert.equal(logins.exchange(logins.invite('operator')).kind, 'in');
  clock.now += loginLimits.windowMs;
  assert.equal(logins.exchange('another').kind, 'refused');
});

test('a token is no secret of a link, nor the other way round', (t) => {
  const { logins } = clocked(t);
  assert.equal(logins.of(logins.invite('operator')), null);
  assert.equal(logins.exchange(enter(logins).token).kind, 'refused');
});

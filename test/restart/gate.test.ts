/** The gates: each alone, in combination, in their order; what a phrase and an environment are good for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { actionOf, actions, mayDo } from '../../src/restart/actions.ts';
import { contract } from '../../src/restart/contract.ts';
import { assess, isAuthorized, type GateFacts, type RestartRequest } from '../../src/restart/gate.ts';
import { parseHook } from '../../src/restart/hook.ts';
import { answer, preview } from '../../src/restart/preview.ts';
import { principalOfLogin, principalOfPassedOn, principalOfPeer } from '../../src/restart/principal.ts';
import type { Marker } from '../../src/restart/types.ts';

const marker: Marker = {
  id: '0123456789abcdef',
  namespace: 'claude-app',
  at: '2026-01-02T03:04:05.000Z',
  reason: 'killed_by_signal',
  detail: 'SIGKILL',
  cleared: null,
};
const request: RestartRequest = { namespace: 'claude-app', mode: 'restart', confirm: 'restart claude-app' };
const facts: GateFacts = {
  principal: { actor: 'uid:1000', role: 'operator' },
  namespaces: [
    { name: 'claude-app', kind: 'session' },
    { name: 'claude-app/tracker', kind: 'server' },
    { name: 'codex-web', kind: 'session' },
    { name: 'bare', kind: 'serve' },
  ],
  operatorAuthorization: 'granted',
  hook: 'session',
  markers: [],
};

type Break = {
  readonly code: string;
  readonly request?: Partial<RestartRequest>;
  readonly facts?: Partial<GateFacts>;
};

/** In the order of the gates; each makes exactly its own gate fail. */
const breaks: readonly Break[] = [
  { code: 'unknown_namespace', request: { namespace: 'nobody', confirm: 'restart nobody' } },
  { code: 'unauthorized', facts: { principal: { actor: 'web:viewer', role: 'viewer' } } },
  { code: 'confirmation_required', request: { confirm: null } },
  { code: 'operator_authorization_missing', facts: { operatorAuthorization: undefined } },
  { code: 'contaminated_runtime', facts: { markers: [marker, { ...marker, namespace: 'nobody' }] } },
  { code: 'restart_hook_not_configured', facts: { hook: undefined } },
];
const gateNames = ['scope', 'capability', 'confirmation', 'operator_authorization', 'contamination', 'hook'];

test('with nothing against it the host has to act', () =>
  assert.deepEqual(assess(request, facts), {
    allowed: true,
    gates_passed: gateNames,
    reason_code: 'host_action_required',
    detail: 'every gate passed; the supervisor of "claude-app" has to act',
  }));

describe('of the gates that fail the first is the answer', () => {
  for (let set = 1; set < 1 << breaks.length; set += 1) {
    const chosen = breaks.filter((_one, at) => (set & (1 << at)) !== 0);
    test(chosen.map(({ code }) => code).join(', '), () => {
      const asked = Object.assign(
        { ...request },
        ...chosen.map((one) => one.request ?? {}),
      ) as RestartRequest;
      const known = Object.assign({ ...facts }, ...chosen.map((one) => one.facts ?? {})) as GateFacts;
      const got = assess(asked, known);
      const first = breaks.findIndex((_one, at) => (set & (1 << at)) !== 0);
      assert.equal(got.allowed, false);
      assert.equal(got.reason_code, breaks[first]?.code);
      assert.deepEqual(got.gates_passed, gateNames.slice(0, first));
    });
  }
});

describe('scope', () => {
  const code = (change: Partial<RestartRequest>) => assess({ ...request, ...change }, facts).reason_code;
  for (const namespace of [
    '*',
    'all',
    ' ALL ',
    'All',
    'fleet',
    'FLEET\n',
    'any',
    '',
    '   ',
    '\t',
    'claude-*',
    '?laude-app',
    '*/tracker',
  ])
    test(`${JSON.stringify(namespace)} is more than one`, () =>
      assert.equal(code({ namespace, confirm: `restart ${namespace}` }), 'fleet_scope_not_permitted'));
  for (const namespace of [
    'claude-app ',
    'Claude-App',
    'claude-app/other',
    'claude-app,codex-web',
    'claude-app codex-web',
    'ａｌｌ',
  ])
    test(`${JSON.stringify(namespace)} is not known`, () =>
      assert.equal(code({ namespace, confirm: `restart ${namespace}` }), 'unknown_namespace'));
  for (const mode of ['', 'Restart', 'kill', 'reconcile', 'restart ', '__proto__', 'constructor'])
    test(`${JSON.stringify(mode)} is no mode, before the namespace is looked at`, () =>
      assert.equal(code({ mode, namespace: '*' }), 'unknown_mode'));
  test('a fleet is refused even where a namespace has that name', () => {
    const named: GateFacts = { ...facts, namespaces: [{ name: 'all', kind: 'serve' }] };
    assert.equal(assess({ ...request, namespace: 'all' }, named).reason_code, 'fleet_scope_not_permitted');
  });
});

describe('a confirmation', () => {
  const code = (change: Partial<RestartRequest>) => assess({ ...request, ...change }, facts).reason_code;
  test('is trimmed', () => assert.equal(code({ confirm: '  restart claude-app\n' }), 'host_action_required'));
  for (const confirm of [null, '', '  '])
    test(`${JSON.stringify(confirm)} is none`, () =>
      assert.equal(code({ confirm }), 'confirmation_required'));
  for (const confirm of [
    'restart',
    'claude-app',
    'yes',
    'Restart claude-app',
    'restart  claude-app',
    'restart claude-app now',
    'restart\tclaude-app',
    'restart *',
  ])
    test(`${JSON.stringify(confirm)} is another phrase`, () =>
      assert.equal(code({ confirm }), 'confirmation_mismatch'));
  test('for one namespace or mode never opens another', () => {
    const pairs = facts.namespaces.flatMap(({ name }) =>
      ['restart', 'reload'].map((mode) => ({ mode, namespace: name })),
    );
    for (const asked of pairs)
      for (const other of pairs) {
        const confirm = `${other.mode} ${other.namespace}`;
        const hook = asked.namespace === 'bare' ? 'systemd:wraptool.service' : 'session';
        const got = assess({ ...asked, confirm }, { ...facts, hook });
        assert.equal(got.allowed, asked === other, `${confirm} for ${JSON.stringify(asked)}`);
      }
  });
});

describe('the operator’s authorization', () => {
  for (const value of [undefined, '', ' ', '0', 'false', 'FALSE', 'no', ' No '])
    test(`${JSON.stringify(value)} is none`, () => assert.equal(isAuthorized(value), false));
  for (const value of ['1', 'yes', 'true', 'granted-by-alice', '00', 'none'])
    test(`${JSON.stringify(value)} is one`, () => assert.equal(isAuthorized(value), true));
  test('in this process’s environment does nothing: the gate reads none', () => {
    process.env['WRAPTOOL_OPERATOR_AUTHORIZATION'] = 'granted';
    process.env['WRAPTOOL_RESTART_HOOK'] = 'session';
    try {
      const nothing: GateFacts = { ...facts, operatorAuthorization: undefined, hook: undefined };
      assert.equal(assess(request, nothing).reason_code, 'operator_authorization_missing');
      assert.equal(
        assess(request, { ...nothing, operatorAuthorization: '1' }).reason_code,
        'restart_hook_not_configured',
      );
    } finally {
      delete process.env['WRAPTOOL_OPERATOR_AUTHORIZATION'];
      delete process.env['WRAPTOOL_RESTART_HOOK'];
    }
  });
});

describe('a marker', () => {
  const code = (namespace: string, markers: readonly Marker[]) =>
    assess({ namespace, mode: 'restart', confirm: `restart ${namespace}` }, { ...facts, markers })
      .reason_code;
  test('holds its namespace back, and the servers in it', () => {
    assert.equal(code('claude-app', [marker]), 'contaminated_runtime');
    assert.equal(code('claude-app/tracker', [marker]), 'contaminated_runtime');
  });
  test('holds no other namespace back', () =>
    assert.equal(code('codex-web', [marker]), 'host_action_required'));
  test('that was cleared holds nothing back', () => {
    const cleared = { ...marker, cleared: { at: marker.at, by: 'uid:1000', note: 'was me' } };
    assert.equal(code('claude-app', [cleared]), 'host_action_required');
    assert.equal(code('claude-app', [cleared, marker]), 'contaminated_runtime');
  });
});

describe('a hook', () => {
  for (const value of [
    undefined,
    '',
    'Session',
    'session ',
    'session;id',
    'systemd:',
    'systemd:a b',
    'systemd:-f',
    'systemd:../x',
    'systemd:a;reboot',
    'systemd:$(id)',
    '/usr/bin/systemctl restart x',
    'sh -c x',
    'systemd:a/b',
    'systemd:a\nb',
    'exec:x',
  ])
    test(`${JSON.stringify(value)} is none`, () => assert.equal(parseHook(value), null));
  test('is the session’s supervisor or a unit', () => {
    assert.deepEqual(parseHook('session'), { kind: 'session' });
    assert.deepEqual(parseHook('systemd:wraptool@ci.service'), {
      kind: 'systemd',
      unit: 'wraptool@ci.service',
    });
  });
  test('of a session can’t act on a bare gateway', () => {
    const bare: RestartRequest = { namespace: 'bare', mode: 'reload', confirm: 'reload bare' };
    assert.equal(assess(bare, facts).reason_code, 'restart_hook_not_configured');
    assert.equal(
      assess(bare, { ...facts, hook: 'systemd:wraptool@bare.service' }).reason_code,
      'host_action_required',
    );
  });
  test('is shown to nobody', () => {
    const shown = JSON.stringify(
      answer(request, {
        ...facts,
        hook: 'systemd:secret-unit.service',
        operatorAuthorization: 'granted-by-alice',
      }),
    );
    assert.doesNotMatch(shown, /secret-unit|granted-by-alice/);
  });
});

describe('the table of actions', () => {
  test('an unknown action is nobody’s and has every flag', () => {
    for (const id of ['system.kill_namespace', '', 'toString', '__proto__']) {
      const action = actionOf(id);
      assert.deepEqual([action.required_role, action.dual_control, action.break_glass], [null, true, true]);
      for (const role of ['operator', 'viewer', null] as const) assert.equal(mayDo(role, action), false);
    }
  });
  test('what changes something takes an operator, what reads a viewer', () => {
    for (const action of actions) {
      assert.equal(action.required_role, action.action_class === 'read' ? 'viewer' : 'operator', action.id);
      assert.equal(mayDo('viewer', action), action.action_class === 'read', action.id);
      assert.equal(mayDo('operator', action), true, action.id);
      assert.equal(mayDo(null, action), false, action.id);
    }
  });
  test('a principal is what the connection says', () => {
    assert.deepEqual(principalOfPeer(1000, 1000), { actor: 'uid:1000', role: 'operator' });
    assert.deepEqual(principalOfPeer(0, 1000), { actor: 'uid:0', role: 'operator' });
    assert.equal(principalOfPeer(1001, 1000).role, null);
    assert.equal(principalOfPeer(null, 1000).role, null);
    assert.deepEqual(principalOfLogin('viewer'), { actor: 'web:viewer', role: 'viewer' });
    assert.equal(principalOfLogin(null).role, null);
  });
  test('a page that asks for a login has no more than its process, and no more than the login', () => {
    const [own, nobody] = [principalOfPeer(1000, 1000), principalOfPeer(1001, 1000)];
    assert.deepEqual(principalOfPassedOn(own, 'operator'), {
      actor: 'uid:1000 web:operator',
      role: 'operator',
    });
    assert.deepEqual(principalOfPassedOn(own, 'viewer'), { actor: 'uid:1000 web:viewer', role: 'viewer' });
    for (const login of [null, '', 'root', 'OPERATOR', 1, { role: 'operator' }])
      assert.equal(principalOfPassedOn(own, login).role, null);
    assert.equal(principalOfPassedOn(nobody, 'operator').role, null);
    assert.equal(principalOfPassedOn(nobody, 'viewer').role, null);
  });
});

describe('a preview', () => {
  test('has every field of the contract', () =>
    assert.deepEqual(preview({ namespace: 'claude-app', mode: 'restart' }, facts), {
      action_id: 'system.restart_namespace',
      namespace: 'claude-app',
      mode: 'restart',
      scope_valid: true,
      scope_reason_code: null,
      required_role: 'operator',
      action_class: 'lifecycle',
      dual_control: false,
      break_glass: false,
      requires_confirmation: true,
      confirmation_phrase: 'restart claude-app',
      mutation_ledger: [
        {
          sequence: 1,
          step: 'quiesce',
          summary: '"claude-app" takes no new mutations; calls in flight end or time out',
          executes_process_kill: false,
        },
        {
          sequence: 2,
          step: 'host_restart_hook',
          summary:
            'the supervisor starts a new gateway, switches when it is ready, keeps the old one if it is not',
          executes_process_kill: false,
        },
        {
          sequence: 3,
          step: 'health_recheck',
          summary: 'a probe inside the runtime proves the gateway; until then it is unproven',
          executes_process_kill: false,
        },
        {
          sequence: 4,
          step: 'audit',
          summary: 'actor, namespace, mode, result and reason code go to the log, whatever the outcome',
          executes_process_kill: false,
        },
      ],
      authorization: { authorized: true, actor: 'uid:1000', role: 'operator' },
      operator_authorization: { authorized: true },
      restart_hook: { configured: true },
      execution_enabled: false,
      raw_process_kill_exposed: false,
      known_namespaces: ['claude-app', 'claude-app/tracker', 'codex-web', 'bare'],
      post_restart_verification_required: true,
    }));
  test('of a reload has the graceful step', () => {
    const { mutation_ledger } = preview({ namespace: 'codex-web', mode: 'reload' }, facts);
    assert.deepEqual(
      mutation_ledger.map(({ step }) => step),
      ['quiesce', 'host_graceful_reload', 'health_recheck', 'audit'],
    );
  });
  test('of an invalid scope has nothing to confirm and nothing to do', () => {
    const got = preview({ namespace: 'all', mode: 'restart' }, facts);
    assert.deepEqual(
      [got.scope_valid, got.scope_reason_code, got.confirmation_phrase, got.mutation_ledger],
      [false, 'fleet_scope_not_permitted', null, []],
    );
    const unknown = preview({ namespace: 'claude-app', mode: 'kill' }, facts);
    assert.deepEqual(
      [unknown.scope_reason_code, unknown.dual_control, unknown.break_glass, unknown.required_role],
      ['unknown_mode', true, true, null],
    );
  });
});

test('no answer means "restarted"', () => {
  for (const hook of ['session', undefined]) {
    const got = answer(request, { ...facts, hook });
    assert.deepEqual([got.success, got.execution_enabled, got.process_kill_executed], [false, false, false]);
  }
});

test('the contract says what is never permitted', () => {
  const { actions: listed, ...rest } = contract(facts.namespaces);
  assert.deepEqual(listed, actions);
  assert.deepEqual(rest, {
    policy_version: 1,
    modes: ['restart', 'reload'],
    known_namespaces: ['claude-app', 'claude-app/tracker', 'codex-web', 'bare'],
    operator_authorization_env: 'WRAPTOOL_OPERATOR_AUTHORIZATION',
    restart_hook_env: 'WRAPTOOL_RESTART_HOOK',
    manual_kill_classified_as: 'contamination',
    post_restart_clean_claim_requires: 'client_namespace',
    fleet_scope_permitted: false,
    console_executes_process_kill: false,
    raw_kill_exposed: false,
    silent_auto_restart_permitted: false,
    requires_confirmation: true,
    confirmation_binds_namespace: true,
    audit_required: true,
  });
});

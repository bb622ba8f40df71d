/** The loader: what it takes, and everything that it must refuse, with the place. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serverNamePattern } from '../../src/config/schema.ts';
import { checkServerName } from '../../src/proxy/names.ts';
import { configPath, parseConfig } from '../../src/config/load.ts';
import type { Snapshot } from '../../src/config/types.ts';
import { WraptoolError } from '../../src/errors.ts';

const from = { file: 'c.yaml', real: '/etc/c.yaml', env: { HOME: '/home/operator' } };

function load(text: string | Uint8Array): Snapshot {
  return parseConfig(typeof text === 'string' ? Buffer.from(text) : text, from);
}

/** The problems of a text that must be refused; its message where it has no located ones. */
function refusal(text: string | Uint8Array): readonly string[] {
  try {
    load(text);
  } catch (error) {
    assert.ok(error instanceof WraptoolError, String(error));
    assert.equal(error.code, 'config_invalid');
    return error.problems.length > 0 ? error.problems : [error.message];
  }
  return assert.fail('it was accepted');
}

const git = (rest: string): string => `version: 1\ntools:\n  git:\n    binary: /usr/bin/git\n${rest}`;
const rule = (text: string): string => git(`    allow:\n      - ${text}\n`);

void describe('refused', () => {
  const rows: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'LOAD-001: an unquoted -4',
      git('    global_flags: [-4]\n'),
      ['c.yaml:5:20 tools.git.global_flags[0]: expected a string, found the number -4: quote it'],
    ],
    [
      'LOAD-002: on and off',
      rule('{ subcommand: s, flags: [--c], flag_constraints: { --c: { enum: [on, off] } } }'),
      [
        'c.yaml:6:74 tools.git.allow[0].flag_constraints.--c.enum[0]: expected a string, found on, which some read as another type: quote it',
        'c.yaml:6:78 tools.git.allow[0].flag_constraints.--c.enum[1]: expected a string, found off, which some read as another type: quote it',
      ],
    ],
    [
      'LOAD-003: numbers lose their spelling',
      rule('{ subcommand: s, args: [{ enum: [1.10, 0x10, 1e3, 012, 12:30, 1_0] }] }'),
      [
        ...['42 1.10', '48 0x10', '54 1e3', '59 012'].map(
          (at, index) =>
            `c.yaml:6:${at.split(' ')[0]} tools.git.allow[0].args[0].enum[${index}]: expected a string, found the number ${at.split(' ')[1]}: quote it`,
        ),
        ...['64 12:30', '71 1_0'].map(
          (at, index) =>
            `c.yaml:6:${at.split(' ')[0]} tools.git.allow[0].args[0].enum[${index + 4}]: expected a string, found ${at.split(' ')[1]}, which some read as another type: quote it`,
        ),
      ],
    ],
    [
      'LOAD-004: a misspelt key',
      rule('{ subcommand: s, flgas: [] }'),
      ['c.yaml:6:26 tools.git.allow[0].flgas: unknown key (did you mean "flags"?)'],
    ],
    [
      'LOAD-005: a misspelt effect',
      git('    alow: []\n'),
      ['c.yaml:5:5 tools.git.alow: unknown key (did you mean "allow"?)'],
    ],
    [
      'LOAD-006: a duplicate key',
      git('  git:\n    binary: /x\n'),
      ['c.yaml:5:3 tools.git: duplicate key "git": it is on line 3 already'],
    ],
    [
      'LOAD-007: a catastrophic pattern',
      rule("{ subcommand: s, args: [{ pattern: '(a+)+$' }] }"),
      [
        'c.yaml:6:44 tools.git.allow[0].args[0].pattern: matching "(a+)+$" takes time that grows exponentially with the value',
      ],
    ],
    [
      'LOAD-008: an invalid pattern',
      rule("{ subcommand: s, args: [{ pattern: '([' }] }"),
      [
        'c.yaml:6:44 tools.git.allow[0].args[0].pattern: "([" is not a regular expression: unterminated character class',
      ],
    ],
    ['LOAD-009: an empty file', '', ['the config "c.yaml" is empty']],
    ['LOAD-009: white space and a byte order mark', '\ufeff \n', ['the config "c.yaml" is empty']],
    [
      'LOAD-010: a tool that is null',
      'version: 1\ntools:\n  git:\n',
      ['c.yaml:3:7 tools.git: expected a map, found nothing'],
    ],
    [
      'LOAD-012: a string for a list',
      git('    allow: status\n'),
      ['c.yaml:5:12 tools.git.allow: expected a list of rules, found "status"'],
    ],
    [
      'LOAD-012: a string for a rule',
      rule('status'),
      ['c.yaml:6:9 tools.git.allow[0]: expected a map, found "status"'],
    ],
    [
      'LOAD-013: a tag',
      'version: 1\ntools:\n  git: !!js/function "x"\n',
      ['c.yaml:3:22 tools.git: a tag (tag:yaml.org,2002:js/function) is not allowed'],
    ],
    [
      'LOAD-015: two documents',
      '---\nversion: 1\n---\nversion: 1\n',
      ['c.yaml:3:1 expected one document, this is the second'],
    ],
    [
      'LOAD-016: an unknown word',
      rule('{ subcommand: s, flags: [--x], flag_constraints: { --x: { value: requird } } }'),
      [
        'c.yaml:6:74 tools.git.allow[0].flag_constraints.--x.value: expected none, optional or required, found "requird" (did you mean "required"?)',
      ],
    ],
    [
      'LOAD-017: a flag without dashes',
      rule('{ subcommand: s, flags: [short] }'),
      [
        'c.yaml:6:34 tools.git.allow[0].flags[0]: expected a flag with its dashes, without a value, found "short"',
      ],
    ],
    ['LOAD-018: __proto__', 'version: 1\n__proto__: {}\n', ['c.yaml:2:1 the key "__proto__" is not allowed']],
    [
      'LOAD-018: as a tool',
      'version: 1\ntools: { __proto__: {} }\n',
      ['c.yaml:2:10 tools: the key "__proto__" is not allowed'],
    ],
    [
      'an anchor in the policy',
      rule('&a { subcommand: s }'),
      ['c.yaml:6:12 tools.git.allow[0]: anchors are not allowed in the policy'],
    ],
    [
      'an alias in the policy',
      'version: 1\nup: { harness_env: &a [A] }\ntools: { git: { binary: /x, global_flags: *a } }\n',
      ['c.yaml:3:43 tools.git.global_flags: aliases are not allowed in the policy'],
    ],
    [
      'a merge key',
      'version: 1\ndefaults: &a { timeout: 1s }\nup: { <<: *a }\n',
      ['c.yaml:3:7 up: merge keys are not allowed'],
    ],
    [
      'a YAML directive of another version',
      '%YAML 1.1\n---\nversion: 1\n',
      ['c.yaml:1:1 a %YAML directive of another version than 1.2 is not allowed'],
    ],
    [
      'a page that other machines could reach',
      'version: 1\nadmin: { listen: 0.0.0.0:80 }\n',
      [
        'c.yaml:2:18 admin.listen: expected HOST:PORT with an address of this machine alone, such as 127.0.0.1:0, found "0.0.0.0:80"',
      ],
    ],
    ['a missing version', 'tools: {}\n', ['c.yaml:1:1 version: expected 1']],
    ['a version that is a string', 'version: "1"\n', ['c.yaml:1:10 version: expected 1, found "1"']],
    [
      'a missing binary',
      'version: 1\ntools: { git: {} }\n',
      ['c.yaml:2:15 tools.git.binary: expected a string, the key is missing'],
    ],
    [
      'a relative binary',
      'version: 1\ntools: { git: { binary: git } }\n',
      ['c.yaml:2:25 tools.git.binary: expected an absolute path, or one that begins with ~/, found "git"'],
    ],
    [
      'a key that is a number',
      'version: 1\ntools: { 1: {} }\n',
      ['c.yaml:2:10 tools: expected a string as the key: quote it'],
    ],
    [
      'a duration without a unit',
      'version: 1\ndefaults: { timeout: "60" }\n',
      [
        'c.yaml:2:22 defaults.timeout: expected a duration such as 60s (ms, s, m, h; at most 24h), found "60"',
      ],
    ],
    [
      'a subcommand with two spaces',
      rule('{ subcommand: "a  b" }'),
      [
        'c.yaml:6:23 tools.git.allow[0].subcommand: expected words separated by single spaces, none of them beginning with a dash, found "a  b"',
      ],
    ],
    [
      'a subcommand that is a flag',
      rule('{ subcommand: "a -b" }'),
      [
        'c.yaml:6:23 tools.git.allow[0].subcommand: expected words separated by single spaces, none of them beginning with a dash, found "a -b"',
      ],
    ],
    [
      'two tokens',
      'version: 1\nmcp: { token_env: A, token_file: /t }\n',
      ['c.yaml:2:34 mcp.token_file: expected either token_env or token_file, found both'],
    ],
    [
      'a wrong example',
      rule('{ subcommand: s, match: [s x] }'),
      [
        "c.yaml:6:34 tools.git.allow[0].match[0]: the rule does not allow its example \"s x\": argument 'x' is more than 'git s' takes",
      ],
    ],
  ];
  for (const [sentence, text, problems] of rows)
    test(sentence, () => assert.deepEqual(refusal(text), problems));

  test('all problems are reported at once, in the order of the file', () => {
    assert.deepEqual(
      refusal('version: 2\nmcp: { expose: bth, allowed_cwd_rots: [] }\nup: { runtime: podman }\n'),
      [
        'c.yaml:1:10 version: expected 1, found 2',
        'c.yaml:2:16 mcp.expose: expected tools, run or both, found "bth" (did you mean "both"?)',
        'c.yaml:2:21 mcp.allowed_cwd_rots: unknown key (did you mean "allowed_cwd_roots"?)',
        'c.yaml:3:16 up.runtime: expected auto, guix, devcontainer or bubblewrap, found "podman"',
      ],
    );
  });
  test('LOAD-014: an alias bomb ends quickly', () => {
    const levels = Array.from(
      { length: 12 },
      (_, index) =>
        `  - &l${index} [${Array.from({ length: 9 }, () => (index === 0 ? 'x' : `*l${index - 1}`)).join(', ')}]`,
    );
    const problems = refusal(`version: 1\nup:\n  harness_env:\n${levels.join('\n')}\n`);
    assert.ok(
      problems.some((problem) => problem.includes('aliases add too much')),
      problems[0],
    );
  });
  test('deep nesting', () => {
    assert.match(
      refusal(`version: 1\nup: ${'['.repeat(200)}${']'.repeat(200)}\n`)[0] ?? '',
      /nested too deeply/,
    );
  });
  test('bytes that are not UTF-8', () => {
    assert.deepEqual(refusal(Buffer.from([0x76, 0xff])), ['the config "c.yaml" is not UTF-8']);
  });
});

void describe('refused of upstream servers', () => {
  const server = (name: string, rest = '') =>
    `version: 1\nmcp_servers:\n  ${name}: { command: /usr/bin/x${rest} }\n`;
  for (const name of ['a__b', 'a_', '_a', '"a b"', `"${'a'.repeat(49)}"`])
    test(`the name ${name}`, () => {
      assert.match(refusal(server(name))[0] ?? '', /expected a name of at most 48/);
      const plain = name.replaceAll('"', '');
      assert.throws(() => checkServerName(plain));
    });
  test('a name that the proxy takes is taken', () => {
    for (const name of ['a', 'a-b.c', 'a_b', 'A9-']) {
      assert.equal(serverNamePattern.test(name), true);
      checkServerName(name);
    }
  });
  test('a tool that would have the name of a command', () => {
    const text = `${server('a', ', allow: [b]')}tools: { a_: { binary: /usr/bin/a, allow: [{ subcommand: b }] } }\n`;
    assert.match(
      refusal(text)[0] ?? '',
      /mcp_servers\.a\.allow\[0\]: "a__b" is the name of a command in "tools" too/,
    );
  });
  test('a tool whose name is too long with that of the server', () => {
    assert.match(refusal(server('server', `, allow: [${'x'.repeat(125)}]`))[0] ?? '', /over 128 characters/);
  });
});

void describe('accepted', () => {
  test('LOAD-011: null for allow, deny or flags is as if the key were absent', () => {
    const snapshot = load(
      rule('{ subcommand: status, flags: }').concat(
        '    deny:\n  svn:\n    binary: /usr/bin/svn\n    allow: null\n',
      ),
    );
    assert.deepEqual(
      [...snapshot.policy.tools.values()].map((tool) => [tool.name, tool.allowCount]),
      [
        ['git', 1],
        ['svn', 0],
      ],
    );
  });
  test('defaults, text forms and ~', () => {
    const { config, hash, file } = load(
      'version: 1\nmcp: { allowed_cwd_roots: [~/src/] }\ndefaults: { timeout: 2m }\ntools:\n  git: { binary: ~/bin/git, timeout: 5s, working_dir: /srv//app, env: { A: "1" } }\n  vcs: { binary: /usr/bin/git, guard: none, max_output: 10KiB }\n',
    );
    assert.equal(file, '/etc/c.yaml');
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.deepEqual(config, {
      version: 1,
      mcp: {
        listen: { host: '127.0.0.1', port: 0 },
        socket: null,
        token_env: 'WRAPTOOL_TOKEN',
        token_file: null,
        allowed_cwd_roots: ['/home/operator/src'],
        expose: 'both',
      },
      admin: null,
      defaults: { timeout: 120_000, max_output: 1024 ** 2, max_concurrent: 8 },
      scrub: { values_from_env: [], patterns: [] },
      tools: {
        git: {
          binary: '/home/operator/bin/git',
          working_dir: '/srv/app',
          env: { A: '1' },
          timeout: 5000,
          max_output: 1024 ** 2,
          max_concurrent: 8,
          guard: 'git',
          remotes: {},
          confine: 'auto',
          home_files: [],
          help_argv: null,
        },
        vcs: {
          binary: '/usr/bin/git',
          working_dir: null,
          env: {},
          timeout: 120_000,
          max_output: 10_240,
          max_concurrent: 8,
          guard: 'none',
          remotes: {},
          confine: 'auto',
          home_files: [],
          help_argv: null,
        },
      },
      mcp_servers: {},
      requests: { log: '/home/operator/.local/state/wraptool/log', notify: [] },
      up: {
        runtime: 'auto',
        harness_env: [],
        extra_roots: [],
        network: 'private',
        confine_install: 'auto',
        base_image: 'mcr.microsoft.com/devcontainers/base:bookworm',
      },
      supervisor: { restart: 'never', probe_tool: 'wraptool_discover' },
    });
  });
  test('an upstream server, and what is assumed of it', () => {
    const { config } = load(
      'version: 1\nmcp_servers: { tracker: { command: ~/bin/tracker, args: [--stdio], allow: [get_issue], cwd: /srv/ } }\n',
    );
    assert.deepEqual(config.mcp_servers, {
      tracker: {
        command: '/home/operator/bin/tracker',
        args: ['--stdio'],
        env: {},
        cwd: '/srv',
        allow: ['get_issue'],
        deny: [],
        start: 'lazy',
        pin: true,
        timeout: 60_000,
      },
    });
  });
  test('the guard and the grammar go by the binary, else by the name', () => {
    const { config } = load(
      'version: 1\ntools: { git: { binary: /usr/bin/true }, x: { binary: /opt/git }, y: { binary: /opt/y } }\n',
    );
    assert.deepEqual(
      Object.values(config.tools).map((tool) => tool.guard),
      ['git', 'git', 'none'],
    );
  });
  test('anchors outside the policy', () => {
    const { config } = load('version: 1\nup: { harness_env: &a [A] }\nscrub: { values_from_env: *a }\n');
    assert.deepEqual(config.scrub.values_from_env, ['A']);
  });
  test('a problem behind an alias is told where the alias leads to', () => {
    const text = 'version: 1\nup: { harness_env: &a [A, 1] }\nscrub: { values_from_env: *a }\n';
    const refused = refusal(text);
    assert.ok(
      refused.some((line) => line.includes('c.yaml:2:') && line.includes('scrub.values_from_env[1]')),
    );
  });
  test('line endings and a byte order mark change nothing', () => {
    const text = rule('{ subcommand: status }');
    for (const variant of [text.replaceAll('\n', '\r\n'), `\ufeff${text}`])
      assert.equal(load(variant).policy.tools.get('git')?.root.next.get('status')?.allow[0]?.ref.line, 6);
  });
  test('the snapshot is frozen', () => {
    const { config, policy } = load(rule('{ subcommand: status }'));
    assert.ok(
      [config, config.mcp, config.tools, config.tools['git'], policy, policy.tools.get('git')].every(
        Object.isFrozen,
      ),
    );
  });
});

void test('the file: --config, $WRAPTOOL_CONFIG, $XDG_CONFIG_HOME', () => {
  const env = { HOME: '/home/o', XDG_CONFIG_HOME: '/xdg', WRAPTOOL_CONFIG: '/w.yaml' };
  assert.equal(configPath({ path: '/a.yaml', env }), '/a.yaml');
  assert.equal(configPath({ env }), '/w.yaml');
  assert.equal(configPath({ env: { ...env, WRAPTOOL_CONFIG: '' } }), '/xdg/wraptool/config.yaml');
  assert.equal(configPath({ env: { HOME: '/home/o' } }), '/home/o/.config/wraptool/config.yaml');
});

test('a %YAML 1.2 directive and a line break in a variable load', () => {
  const text = '%YAML 1.2\n---\nversion: 1\ntools: { git: { binary: /x, env: { A: "x\\ny" } } }\n';
  const snapshot = parseConfig(Buffer.from(text), { file: 'c.yaml', real: '/c.yaml', env: { HOME: '/h' } });
  assert.equal(snapshot.config.tools['git']?.env['A'], 'x\ny');
});

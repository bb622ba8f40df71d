/** One sentence of the rules a row: what of a definition, in a workspace with these files, reaches the host. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { inspect } from '../../src/devcontainer/inspect.ts';

type Row = {
  readonly what: string;
  readonly given: object | string;
  readonly files?: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  /** `code place`, with `file:` before the place where it is another one. Only those of severity host. */
  readonly host?: readonly string[];
  /** Some of the others. */
  readonly info?: readonly string[];
};

const image = 'debian:bookworm';
const run = (...runArgs: unknown[]) => ({ image, runArgs });
const mounts = (...list: unknown[]) => ({ image, mounts: list });
const outside = 'mount_outside_workspace';
const core = (text: string) => `[core]\n\tbare = false\n${text}`;
const repository = { '.git/HEAD': 'ref: refs/heads/main\n', '.git/objects/keep': '', '.git/refs/keep': '' };

const rows: readonly Row[] = [
  {
    what: 'an empty array of initializeCommand runs nothing',
    given: { image, initializeCommand: [] },
    info: ['initialize_command /initializeCommand'],
  },
  {
    what: 'an object of blank commands runs nothing',
    given: { image, initializeCommand: { a: ' ', b: [] } },
  },
  {
    what: 'one command of several is enough',
    given: { image, initializeCommand: { a: ' ', b: ['true'] } },
    host: ['initialize_command /initializeCommand'],
  },
  {
    what: 'the last of duplicate keys wins, harmless',
    given: '{"image":"a","privileged":true,"privileged":false}',
    info: ['parse_error '],
  },
  {
    what: 'the last of duplicate keys wins, hostile',
    given: '{"image":"a","privileged":false,"privileged":true}',
    host: ['privileged /privileged'],
  },
  {
    what: 'any text turns privileged on',
    given: { image, privileged: 'false' },
    host: ['privileged /privileged'],
  },
  {
    what: 'an empty array turns privileged on',
    given: { image, privileged: [] },
    host: ['privileged /privileged'],
  },
  {
    what: 'a look-alike letter makes another property',
    given: { image, 'priv\u0456leged': true },
    info: ['unknown_property /priv\u0456leged'],
  },
  {
    what: 'a security option that makes it stricter',
    given: { image, securityOpt: ['no-new-privileges:true'] },
    info: ['security_opt /securityOpt/0'],
  },
  {
    what: 'a missing comma: parse error, and what follows counts',
    given: '{"image":"a" "capAdd":["ALL"]}',
    host: ['parse_error ', 'cap_add /capAdd/0'],
  },
  {
    what: 'lines with a number sign: parse error, and what follows counts',
    given: '# x\n{"image":"a","privileged":true}',
    host: ['parse_error ', 'privileged /privileged'],
  },
  { what: 'no object: parse error', given: '["privileged"]', host: ['parse_error '] },
  {
    what: 'a depth that no reader takes: parse error, and what follows counts',
    given: `{"image":"a","x":${'['.repeat(100_000)}${']'.repeat(100_000)},"privileged":true}`,
    host: ['parse_error ', 'privileged /privileged'],
  },

  { what: '--pid=host is a host namespace', given: run('--pid=host'), host: ['host_namespace /runArgs/0'] },
  {
    what: '--userns and --cgroupns of the host',
    given: run('--userns=host', '--cgroupns', 'host'),
    host: ['host_namespace /runArgs/0', 'host_namespace /runArgs/1'],
  },
  {
    what: 'the long form of a network can be the host’s',
    given: run('--network=name=host,alias=x'),
    host: ['host_namespace /runArgs/0'],
  },
  {
    what: 'own namespaces',
    given: run('--ipc=private', '--network=none', '--cgroupns=private', '--network', 'bridge'),
  },
  {
    what: 'a device',
    given: run('--device', '/dev/kvm', '--device=/dev/fuse'),
    host: ['run_args /runArgs/0', 'run_args /runArgs/2'],
  },
  {
    what: 'a bare -e copies the host’s variable',
    given: run('-e', 'HOME', '-eUSER', '--env=PATH', '-e', 'A=b'),
    host: ['local_env /runArgs/0', 'local_env /runArgs/2', 'local_env /runArgs/3'],
  },
  {
    what: 'a bare name in an env file does the same',
    given: run('--env-file', 'names.env'),
    files: { 'names.env': '# c\nA=b\nHOME\n' },
    host: ['local_env /runArgs/0'],
  },
  {
    what: 'an env file of the workspace with values',
    given: run('--env-file=.env'),
    files: { '.env': 'A=b\n\n' },
  },
  {
    what: 'an env file of the host',
    given: run('--env-file', '/etc/environment'),
    host: ['run_args /runArgs/0'],
  },
  { what: 'the engine’s files on the host', given: run('--cidfile=/tmp/x'), host: ['run_args /runArgs/0'] },
  {
    what: 'limits, names and addresses',
    given: run(
      '--memory=2g',
      '--cpus',
      '2',
      '--shm-size=1g',
      '--init',
      '-it',
      '--name',
      'x',
      '--add-host=a:1.2.3.4',
      '--ulimit=nofile=1024',
      '--user',
      'root',
      '--rm',
    ),
  },
  {
    what: 'a switch takes no next word: that becomes the image',
    given: run('--init', 'false', '--privileged'),
    host: ['run_args /runArgs/1'],
  },
  {
    what: 'two dashes end the options',
    given: run('--', 'x', '--privileged'),
    host: ['run_args /runArgs/1'],
  },
  {
    what: 'an option without its value takes the CLI’s next word',
    given: run('--hostname'),
    host: ['run_args /runArgs/0'],
  },
  { what: 'an unknown letter', given: run('-X'), host: ['run_args /runArgs/0'] },
  {
    what: 'run arguments as a string do nothing',
    given: { image, runArgs: '--privileged' },
    info: ['run_args /runArgs'],
  },
  {
    what: 'a word in an array is a word',
    given: run('--pid', ['host'], '-v', ['/:/h'], '--env-file', ['/etc/passwd'], ['--privileged'], '-u', 'a'),
    host: [
      'host_namespace /runArgs/0',
      `${outside} /runArgs/2`,
      'run_args /runArgs/4',
      'privileged /runArgs/6',
    ],
  },
  {
    what: 'an array of words is one word with commas',
    given: run('--mount', ['type=bind', ['src=/', 'dst=/h']]),
    host: [`${outside} /runArgs/0`],
  },
  {
    what: 'a variable is replaced in each member of an array, not over their ends',
    given: run('--mount', ['type=bind', 'src=${localWorkspaceFolder', 'x}', 'dst=/h']),
    host: [`${outside} /runArgs/0`],
  },
  {
    what: 'a workspace mount in an array',
    given: { image, workspaceMount: ['type=bind,source=/etc,target=/w'], workspaceFolder: '/w' },
    host: ['workspace_mount /workspaceMount'],
  },
  {
    what: 'a workspace mount in an array, through the prototype',
    given: '{"image":"a","__proto__":{"workspaceMount":["type=bind,source=/etc,target=/w"]}}',
    host: ['workspace_mount /__proto__/workspaceMount'],
  },
  {
    what: 'a build cache in an array',
    given: { build: { dockerfile: 'Dockerfile', cacheFrom: [['type=local,src=/etc']] } },
    files: { '.devcontainer/Dockerfile': 'FROM a' },
    host: ['build_options /build/cacheFrom/0'],
  },
  {
    what: 'ADD of an address of the host, which the engine reaches',
    given: { build: { dockerfile: 'Dockerfile', context: '..' } },
    files: {
      '.devcontainer/Dockerfile': [
        'FROM a',
        'ARG PORT=8080 FROM_ARG=http://127.1:$PORT/x',
        'ADD --chown=a http://2130706433/x https://example.org/y.tgz /a/',
        'ADD ["$FROM_ARG", "/b"]',
        'ADD file-$NAME http://router/ \\\n  http://[fe80::1]/z git@nas.local:a.git /c/',
        'ADD https://example.org/v$VERSION/y https://$MIRROR/y /d/',
        'RUN curl http://127.0.0.1/',
      ].join('\n'),
    },
    host: Array.from({ length: 6 }, () => 'build_options .devcontainer/Dockerfile:'),
    info: ['build_options .devcontainer/Dockerfile:'],
  },
  {
    what: 'a default makes an option',
    given: run('${localEnv:NOT_SET:--privileged}'),
    host: ['local_env /runArgs/0', 'privileged /runArgs/0'],
  },
  {
    what: '--mount among the run arguments',
    given: run('--mount', 'type=bind,src=/,dst=/h'),
    host: [`${outside} /runArgs/0`],
  },
  {
    what: '-v from the host’s environment',
    given: run('-v', '${localEnv:HOME}:/h'),
    host: [`${outside} /runArgs/0`, 'local_env /runArgs/1'],
  },
  {
    what: 'the neighbour of the workspace',
    given: run('-v', '${localWorkspaceFolder}-secrets:/s'),
    host: [`${outside} /runArgs/0`],
  },
  { what: 'a name like another session’s', given: run('--name=wraptool-x'), host: ['run_args /runArgs/0'] },

  {
    what: 'keys in any case, the last wins',
    given: mounts('TYPE=volume,Source=a,target=/t,Type=BIND,src=/etc'),
    host: [`${outside} /mounts/0`],
  },
  {
    what: 'a volume that is a bind mount',
    given: mounts(
      'type=volume,source=v,target=/t,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/etc',
    ),
    host: [`${outside} /mounts/0`],
  },
  {
    what: 'a volume in memory',
    given: mounts('type=volume,source=v,target=/t,volume-opt=type=tmpfs,volume-opt=device=tmpfs'),
  },
  {
    what: 'a folder of the workspace',
    given: mounts('type=bind,source=${localWorkspaceFolder}/a,target=/a', {
      type: 'bind',
      source: '${localWorkspaceFolder}/../${localWorkspaceFolderBasename}/a',
      target: '/b',
    }),
  },
  {
    what: 'a single object',
    given: { image, mounts: { type: 'bind', source: '/etc', target: '/e' } },
    host: [`${outside} /mounts`],
  },
  {
    what: 'the folder of a user’s socket',
    given: mounts('type=bind,source=/run/user/1000,target=/r'),
    host: ['docker_socket /mounts/0'],
  },
  {
    what: 'a chain of links that leads out',
    given: mounts('type=bind,source=${localWorkspaceFolder}/a/b,target=/a'),
    links: { a: 'c', c: '/etc' },
    host: ['symlink_outside /mounts/0'],
  },
  {
    what: 'a link to nothing outside',
    given: mounts('type=bind,source=${localWorkspaceFolder}/a,target=/a'),
    links: { a: '../nothing-here' },
    host: ['symlink_outside /mounts/0'],
  },
  {
    what: 'a link that stays in the workspace',
    given: mounts('type=bind,source=${localWorkspaceFolder}/a,target=/a'),
    links: { a: 'b' },
  },
  {
    what: 'a line break in a mount',
    given: mounts('type=bind,source=${localWorkspaceFolder}/a\nb,target=/a'),
    host: [`${outside} /mounts/0`],
  },

  {
    what: 'a workspace mount through the prototype only where there is no own',
    given: '{"image":"a","workspaceMount":"","__proto__":{"workspaceMount":"type=bind,source=/,target=/w"}}',
    info: ['workspace_mount /workspaceMount'],
  },
  {
    what: 'core.worktree in quotes, in any case',
    given: { image },
    files: { ...repository, '.git/config': core('\tWorkTree = "/et" "c" ; x\n').replace('[core]', '[CORE]') },
    host: [`${outside} .git/config:`],
  },
  {
    what: 'core.worktree in an included file',
    given: { image },
    files: {
      ...repository,
      '.git/config': core('[include]\n\tpath = ../more\n'),
      more: '[core] worktree = /etc\n',
    },
    host: [`${outside} .git/config:`],
  },
  {
    what: 'core.worktree in the config of the work tree',
    given: { image },
    files: {
      ...repository,
      '.git/config': core('[extensions]\nworktreeConfig = true\n'),
      '.git/config.worktree': '[core]\nworktree = /\n',
    },
    host: [`${outside} .git/config:`],
  },
  {
    what: 'the workspace itself as a bare repository with a work tree',
    given: { image },
    files: { HEAD: 'ref: refs/heads/main\n', 'objects/k': '', 'refs/k': '', config: core('worktree = /etc') },
    host: [`${outside} config:`],
  },
  {
    what: 'core.worktree that names the workspace',
    given: { image },
    files: { ...repository, '.git/config': core('worktree = ..') },
  },
  {
    what: 'core.worktree with mount and folder given',
    given: {
      image,
      workspaceMount: 'type=bind,source=${localWorkspaceFolder},target=/w',
      workspaceFolder: '/w',
    },
    files: { ...repository, '.git/config': core('worktree = /etc') },
  },

  {
    what: 'a context of the workspace',
    given: { build: { dockerfile: 'Dockerfile', context: '..' } },
    files: { '.devcontainer/Dockerfile': 'FROM a' },
  },
  {
    what: 'a context from the host’s environment',
    given: { build: { dockerfile: 'Dockerfile', context: '${localEnv:HOME}' } },
    files: { '.devcontainer/Dockerfile': 'FROM a' },
    host: ['build_context_outside /build/context', 'local_env /build/context'],
  },
  {
    what: 'the old spelling with a context outside',
    given: { dockerFile: 'Dockerfile', context: '../..' },
    files: { '.devcontainer/Dockerfile': 'FROM a' },
    host: ['build_context_outside /context'],
  },
  {
    what: 'build options',
    given: {
      build: {
        dockerfile: 'D',
        options: [
          '--ssh',
          'default',
          '--secret=id=a,src=/etc/shadow',
          '--build-arg',
          'A=b',
          '--no-cache',
          '--network=host',
          'x',
        ],
      },
    },
    host: [
      'build_options /build/options/0',
      'build_options /build/options/2',
      'build_options /build/options/6',
      'build_options /build/options/7',
    ],
  },
  {
    what: 'a cache by the name of an image',
    given: { build: { dockerfile: 'D', cacheFrom: ['a/b:c', 'type=registry,ref=a/b'] } },
  },

  {
    what: 'env is localEnv',
    given: { image, remoteEnv: { A: '${env:HOME}' } },
    host: ['local_env /remoteEnv/A'],
  },
  {
    what: 'a default does not hide it',
    given: { image, containerEnv: { A: '${localEnv:HOME:x}' } },
    host: ['local_env /containerEnv/A'],
  },
  {
    what: 'forwarded ports are the editor’s',
    given: { image, forwardPorts: [3000] },
    info: ['published_port /forwardPorts'],
  },
  {
    what: 'image beside a compose file wins',
    given: { image, dockerComposeFile: 'c.yml' },
    info: ['compose_file /dockerComposeFile'],
  },
  {
    what: 'an empty list of compose files takes the usual ones',
    given: { dockerComposeFile: [], service: 'a' },
    host: ['compose_file /dockerComposeFile'],
  },
  {
    what: 'run arguments and ports do nothing with a compose file',
    given: { dockerComposeFile: 'c.yml', service: 'a', runArgs: ['--privileged'], appPort: 3000 },
    host: ['compose_file /dockerComposeFile'],
  },
  {
    what: 'a service whose name ends its quotes',
    given: { dockerComposeFile: 'c.yml', service: "a'\n    pid: host\n  'b" },
    host: ['compose_file /dockerComposeFile', 'host_namespace /service'],
  },
  {
    what: 'a variable whose name ends its quotes',
    given: { dockerComposeFile: 'c.yml', service: 'a', containerEnv: { "A'": 'b' } },
    host: ['compose_file /dockerComposeFile', "host_namespace /containerEnv/A'"],
  },

  {
    what: 'what a local feature needs',
    given: { image, features: { './f': {} } },
    files: {
      '.devcontainer/f/devcontainer-feature.json':
        '{"id":"f","dependsOn":{"ghcr.io/a/b:1":{}},"mounts":["type=bind,source=/,target=/h"]}',
    },
    host: [
      `${outside} .devcontainer/f/devcontainer-feature.json:/mounts/0`,
      'feature_remote .devcontainer/f/devcontainer-feature.json:/dependsOn/ghcr.io~1a~1b:1',
    ],
  },
  {
    what: 'a local feature behind a link that leads out',
    given: { image, features: { './f': {} } },
    links: { '.devcontainer/f': '/etc' },
    host: ['symlink_outside /features/.~1f'],
  },
  {
    what: 'features that need each other',
    given: { image, features: { './f': {} } },
    files: {
      '.devcontainer/f/devcontainer-feature.json': '{"dependsOn":{"./g":{}}}',
      '.devcontainer/g/devcontainer-feature.json': '{"dependsOn":{"./f":{}},"privileged":true}',
    },
    host: ['privileged .devcontainer/g/devcontainer-feature.json:/privileged'],
  },
  {
    what: 'a feature without its file',
    given: { image, features: { './f': {} } },
    files: { '.devcontainer/f/other': '' },
  },
];

describe('inspect', () => {
  for (const row of rows)
    test(row.what, async (t) => {
      const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'wraptool-rules-')));
      t.after(() => rm(dir, { recursive: true, force: true }));
      const workspace = path.join(dir, 'w');
      const text = typeof row.given === 'string' ? row.given : JSON.stringify(row.given);
      for (const [name, content] of Object.entries({
        '.devcontainer/devcontainer.json': text,
        ...row.files,
      })) {
        await mkdir(path.dirname(path.join(workspace, name)), { recursive: true });
        await writeFile(path.join(workspace, name), content);
      }
      for (const [from, to] of Object.entries(row.links ?? {})) await symlink(to, path.join(workspace, from));
      const found = (await inspect(workspace, { cwd: '/' }))?.findings ?? [];
      const listed = (severity: string) =>
        found
          .filter((one) => one.severity === severity)
          .map((one) => `${one.code} ${one.file === undefined ? '' : `${one.file}:`}${one.json_path}`);
      assert.deepEqual(listed('host').sort(), [...(row.host ?? [])].sort());
      for (const one of row.info ?? [])
        assert.ok(listed('info').includes(one), `${one} in ${listed('info').join('; ')}`);
    });
});

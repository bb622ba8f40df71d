/** Secrets as everyday commands print them, what only looks like one, and the forms of a configured value. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createScrubber } from '../../src/scrub/scrubber.ts';

const X = '\u001b[';
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Text that looks random and is the same each time. */
function r(length: number, alphabet = letters, seed = 7): string {
  let text = '';
  for (let state = seed * 7919 + 13; text.length < length;) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    text += alphabet[(state >> 8) % alphabet.length];
  }
  return text;
}

const radix64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const gh = 'ghp_' + r(36),
  ghs = 'ghs_' + r(36, undefined, 3),
  aws = r(40, radix64, 5),
  p = 'Tr0ub4dor-' + r(6, undefined, 9),
  k32 = r(32, '0123456789abcdef', 4),
  jwt = 'eyJ' + r(30) + '.eyJ' + r(60) + '.' + r(43, undefined, 2);
/** What it is, the text, and the secret in it. */
const redacted: readonly (readonly [string, string, string])[] = [
  ['remote -v', `origin\thttps://x-access-token:${ghs}@github.com/a/b (fetch)\n`, ghs],
  ['token as user', `https://${gh}@github.com/a/b\n`, gh],
  ['git credential', `protocol=https\nhost=h\nusername=u\npassword=${p}\n`, p],
  ['aws env', `AWS_SECRET_ACCESS_KEY=${aws}\n`, aws],
  ['aws ini', `aws_secret_access_key = ${aws}\n`, aws],
  ['aws session', `export AWS_SESSION_TOKEN="IQoJ${r(120, radix64, 11)}"\n`, r(120, radix64, 11)],
  [
    'curl -v basic',
    `> Authorization: Basic ${Buffer.from('u:' + p).toString('base64')}\r\n`,
    Buffer.from('u:' + p).toString('base64'),
  ],
  [
    'curl -v proxy',
    `> Proxy-Authorization: Basic ${Buffer.from('u:' + p).toString('base64')}\r\n`,
    Buffer.from('u:' + p).toString('base64'),
  ],
  ['x-api-key', `> X-Api-Key: ${k32}\r\n`, k32],
  ['x-auth-token', `> X-Auth-Token: ${k32}\r\n`, k32],
  ['cookie', `> Cookie: a=b; sessionid=${r(32)}; c=d\r\n`, r(32)],
  [
    'npmrc _password',
    `//reg.example/:_password=${Buffer.from(p + p).toString('base64')}\n`,
    Buffer.from(p + p).toString('base64'),
  ],
  ['PGPASSWORD', `+ PGPASSWORD=${p} psql -h h\n`, p],
  ['libpq', `psql "host=h user=u password=${p} dbname=d"\n`, p],
  ['jdbc', `jdbc:postgresql://h/db?user=u&password=${p}&ssl=true\n`, p],
  ['adonet', `Server=h;Database=d;User Id=u;Password=${p};Encrypt=true\n`, p],
  ['mysql -p', `mysql -uroot -p${p} db\n`, p],
  ['redis url', `redis://:${p}@h:6379/0\n`, p],
  ['mongo', `mongodb+srv://u:${p}@h/db\n`, p],
  ['url with @', `https://u:p@ss${p}@h/\n`, p],
  ['yaml quoted', `  password: "${p}"\n`, p],
  ['json escaped', `{\\"token\\":\\"${p}${p}\\"}\n`, p],
  ['client_secret', `{"client_secret": "${p}"}\n`, p],
  ['docker login', `docker login -u x -p ${p} reg\n`, p],
  [
    'k8s secret data',
    `data:\n  password: ${Buffer.from(p).toString('base64')}\n`,
    Buffer.from(p).toString('base64'),
  ],
  [
    'pem in json',
    `"private_key": "-----BEGIN PRIVATE KEY-----\\n${r(64, radix64)}\\n${r(64, radix64, 8)}\\n-----END PRIVATE KEY-----\\n"`,
    r(64, radix64, 8),
  ],
  [
    'pem truncated',
    `-----BEGIN RSA PRIVATE KEY-----\n${r(64, radix64)}\n${r(64, radix64, 8)}\n`,
    r(64, radix64, 8),
  ],
  [
    'pem quoted mail',
    `> -----BEGIN EC PRIVATE KEY-----\n> ${r(64, radix64)}\n> ${r(40, radix64, 8)}\n> -----END EC PRIVATE KEY-----\n`,
    r(40, radix64, 8),
  ],
  [
    'pem with diff signs',
    `+-----BEGIN EC PRIVATE KEY-----\n+${r(64, radix64)}\n+${r(40, radix64, 8)}\n+-----END EC PRIVATE KEY-----\n`,
    r(40, radix64, 8),
  ],
  [
    'pem with line numbers',
    `  1\t-----BEGIN EC PRIVATE KEY-----\n  2\t${r(64, radix64)}\n  3\t${r(40, radix64, 8)}\n  4\t-----END EC PRIVATE KEY-----\n`,
    r(40, radix64, 8),
  ],
  [
    'pem grep -n',
    `key.pem:1:-----BEGIN EC PRIVATE KEY-----\nkey.pem:2:${r(64, radix64)}\nkey.pem:3:${r(40, radix64, 8)}\nkey.pem:4:-----END EC PRIVATE KEY-----\n`,
    r(40, radix64, 8),
  ],
  [
    'sas',
    `https://x.blob.core.windows.net/c?sv=2020&sig=${encodeURIComponent(r(43, radix64) + '=')}\n`,
    encodeURIComponent(r(43, radix64) + '='),
  ],
  [
    's3 presigned',
    `https://b.s3.amazonaws.com/k?X-Amz-Signature=${r(64, '0123456789abcdef')}\n`,
    r(64, '0123456789abcdef'),
  ],
  ['access_token query', `https://h/cb?access_token=${r(40)}&x=1\n`, r(40)],
  ['access_token fragment', `https://h/cb#access_token=${r(40)}&x=1\n`, r(40)],
  [
    'jwt bearer ansi',
    `authorization: ${X}33mBearer ${X}1m${jwt.slice(0, 50)}${X}0m${jwt.slice(50)}\n`,
    jwt.slice(50),
  ],
  ['xtrace', `+ export API_TOKEN=${r(24)}\n`, r(24)],
  ['declare', `declare -x MY_SECRET="${p}"\n`, p],
  ['tf output', `db_password = "${p}"\n`, p],
  ['env -0', `A=b\0DB_PASSWORD=${p}\0C=d\0`, p],
  ['ps', `root 1 curl -u admin:${p} https://h/\n`, p],
  ['header json', `{"Authorization":"Bearer ${r(30)}"}`, r(30)],
  ['ansi osc 8', `\u001b]8;;https://h/?token=${r(32)}\u0007link\u001b]8;;\u0007\n`, r(32)],
  ['ansi each letter', Array.from(gh, (c) => `${X}31m${c}`).join('') + '\n', gh.slice(10)],
  ['ansi key split', `pass${X}1mword=${p}\n`, p],
  ['bold 24-bit', `t ${gh.slice(0, 9)}${X}38;2;1;2;3m${gh.slice(9)}\n`, gh.slice(9)],
  ['8-bit csi', `t ${gh.slice(0, 9)}\u009b0m${gh.slice(9)}\n`, gh.slice(9)],
  ['charset escape', `t ${gh.slice(0, 9)}\u001b(B${gh.slice(9)}\n`, gh.slice(9)],
  ['crlf end', `x=${gh}\r\n`, gh],
  ['in parentheses', `(${gh}).`, gh],
  ['escaped newline', `"log": "a\\n${gh}\\nb"`, gh],
  ['after a Unicode escape', `"a\\u003d${gh}"`, gh],
  ['after a tab escape', `a\\t${gh}`, gh],
  ['url-encoded', `q=${encodeURIComponent('token=' + gh)}\n`, gh],
  ['windows env', `set GH_TOKEN=${gh}\r\n`, gh],
  ['xml', `<apiKey>${k32}</apiKey>\n`, k32],
  ['ini dots', `spring.datasource.password=${p}\n`, p],
  ['ruby hash', `:secret_key_base => '${k32}${k32}'\n`, k32],
  ['camel', `clientSecret: '${p}'\n`, p],
  [
    'sentry dsn old',
    `https://${k32}:${r(32, '0123456789abcdef', 6)}@sentry.io/1\n`,
    r(32, '0123456789abcdef', 6),
  ],
  ['basic auth ftp', `ftp://u:${p}@h/\n`, p],
  ['ssh -p', `sshpass -p ${p} ssh u@h\n`, p],
  ['telegram', `https://api.telegram.org/bot123456789:AA${r(33)}/getMe\n`, r(33)],
  ['two on a line', `${gh} ${ghs}\n`, ghs],
  ['tfvars heredoc', `TF_VAR_db_password=${p}\n`, p],
  ['gitlab ci', `CI_JOB_TOKEN=${r(20)}\n`, r(20)],
  ['vault kv', `password    ${p}\n`, p],
  ['op json', `"private_key_id": "x", "private_key": "${p}${p}"`, p],
];
const kept: readonly (readonly [string, string])[] = [
  ['log', 'commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12\nAuthor: A <a@b.c>\n'],
  ['prompt', 'Password: \nEnter passphrase for key /root/.ssh/id_ed25519: \n'],
  ['prose', 'error: token expired, please log in; password is required\n'],
  ['code', 'const token = await getToken(request.headers.authorization);\n'],
  ['code 2', 'if (password === undefined) throw new TypeError("password is missing");\n'],
  ['python', 'password = input("Password: ")\n'],
  ['k8s ref', 'secretKeyRef:\n  name: db-credentials\n  key: password\n'],
  ['k8s name', 'secretName: my-app-tls-2024\n'],
  ['option file', '--token-file /run/secrets/token --password-stdin\n'],
  ['empty', 'PASSWORD=\nTOKEN=""\n'],
  ['template', 'Authorization: Bearer ${TOKEN}\npassword: {{ .Values.password }}\n'],
  ['primary key', 'primary_key=id foreign_key=user_id sort_key=created\n'],
  ['keyboard', 'keyboard=us monkey=12345678 keyframes=fadeInOut\n'],
  ['digest', 'sha256:' + r(64, '0123456789abcdef') + '\n'],
  ['data uri', 'data:image/png;radix64,' + r(200, radix64) + '\n'],
  [
    'certificate',
    '-----BEGIN CERTIFICATE-----\n' +
      r(64, radix64) +
      '\n' +
      r(64, radix64, 3) +
      '\n-----END CERTIFICATE-----\n',
  ],
  ['public key', '-----BEGIN PUBLIC KEY-----\n' + r(64, radix64) + '\n-----END PUBLIC KEY-----\n'],
  ['port', 'https://example.com:8080/a:b@c\n'],
  ['scp', 'git@github.com:acme/app.git user@host:path/to/x\n'],
  ['short', 'ghp_short glpat-abc AKIA1234 npm_config_registry github_pat_\n'],
  ['uuid', 'https://h/items/550e8400-e29b-41d4-a716-446655440000?page=2\n'],
  ['tap', '# pass 12\n# fail 0\npassed=12 failed=0 pass: 12\n'],
  ['numbers', 'max_tokens: 4096, tokens: 12345, token_count=99\n'],
  ['bool', 'secret: true\ntoken: null\npassword: false\n'],
  ['function', 'password_hash($x) tokenize(input, 12) secrets.token_hex(32)\n'],
  ['etag', 'ETag: W/"' + r(27, radix64) + '"\n'],
  ['compile', '-DKEY_SIZE=256 -DTOKEN_MAX=1024\n'],
  ['go import', 'github.com/aws/aws-sdk-go-v2/credentials v1.17.0\n'],
  ['yaml anchors', 'token: *default\npassword: &pw\n'],
  ['docs', 'set the password with `--password <value>`, e.g. --password=VALUE\n'],
  ['ls', '-rw------- 1 root root 411 Nov 30 12:00 secret.key\n'],
  ['make', 'make: *** [Makefile:3: token] Error 1\n'],
  ['grep', 'src/token.ts:12:export function token(name: string): Token {\n'],
  ['sql', 'CREATE TABLE t (password varchar(255) NOT NULL, token text);\n'],
  ['html', '<input type="password" name="password" autocomplete="current-password">\n'],
  ['css', '.token.keyword { color: #a626a4 }\n'],
  ['jwt words', 'eyJhbGciOiJIUzI1NiJ9 is a header only\n'],
  ['hash of a file', 'd41d8cd98f00b204e9800998ecf8427e  password.txt\n'],
  ['long word', 'supercalifragilisticexpialidocious-secret-garden-party\n'],
  ['http', 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm="x",error="invalid_token"\r\n'],
  ['git config', 'credential.helper=store\nuser.signingkey=~/.ssh/id_ed25519.pub\n'],
  ['npm audit', '1 package is looking for funding\n  run `npm fund` for details\n'],
];

// oxlint-disable-next-line no-control-regex
const sequences = /\u001b\[[0-9;]*m|\u009b0m|\u001b\(B/g;
const configured = 's3cr/et "q" é+key=9';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const forms: Readonly<Record<string, string>> = {
  plain: configured,
  'in base64': base64(configured),
  'in base64 for URLs': Buffer.from(configured).toString('base64url'),
  'in base64 after one or two bytes more': base64(`u:${configured}`),
  'in base64 in the middle': base64(`abc${configured}def`),
  'percent-encoded': encodeURIComponent(configured),
  'in a form': encodeURIComponent(configured).replaceAll('%20', '+'),
  'as a URI': encodeURI(configured),
  'in JSON': JSON.stringify(configured),
  'in JSON in JSON': JSON.stringify(JSON.stringify(configured)),
  'in ASCII JSON': JSON.stringify(configured).replace('é', '\\u00e9'),
  'with escaped slashes': JSON.stringify(configured).replace('/', '\\/'),
  'with an escape sequence inside': `${configured.slice(0, 5)}${X}1m${configured.slice(5)}`,
};

const shapes = createScrubber({ literals: [], patterns: [] });
const withValue = createScrubber({ literals: [{ name: 'V', value: configured }], patterns: [] });

/** Scrubbed whole, which must be the same as character by character. */
function scrub(scrubber: typeof shapes, text: string): string {
  const whole = scrubber.scrub(text);
  const stream = scrubber.stream();
  const parts = Array.from(text, (character) => stream.push(character));
  assert.equal(parts.join('') + stream.end(), whole);
  return whole;
}

void describe('taken out', () => {
  for (const [name, text, secret] of redacted)
    test(name, () => {
      assert.ok(text.replace(sequences, '').includes(secret), 'the case has no secret');
      const shown = scrub(shapes, text).replace(sequences, '');
      assert.ok(!shown.includes(secret.slice(-12)), shown);
      assert.match(shown, /\[redacted:/);
    });
});

void describe('left alone', () => {
  for (const [name, text] of kept) test(name, () => assert.equal(scrub(shapes, text), text));
});

void describe('a configured value', () => {
  for (const [name, text] of Object.entries(forms))
    test(name, () => assert.match(scrub(withValue, `a ${text} b`), /^a .*\[redacted:V\].* b$/s));
});

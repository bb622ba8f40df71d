/** Values that only their name or place tells: `password=…`, an Authorization header, the password in a URL. */
import { isPlausible } from './plausible.ts';

/**
 * A place for a secret: everything before the first capture is context, the capture is the secret.
 * `trust` says how much the place alone proves (see plausible.ts).
 */
export type Place = {
  readonly name: string;
  readonly source: string;
  readonly trust: Trust;
};

/** sure: whatever stands there; strong: all but placeholders; weak: only what looks random. */
export type Trust = 'sure' | 'strong' | 'weak';

const secretWord =
  'pass(?:word|wd|phrase|code)|passw|pwd|secret(?:[_-]?(?:access[_-]?key|access|key(?:[_-]?base)?|value|token))?|token|identitytoken|registrytoken|' +
  '(?:api|app|access|private|preshared|encryption|signing|master|account|sharedaccess|shared[_-]?access|auth|service|license|deploy|storage|webhook|session|jwt|hmac)[_-]?(?:key|secret)(?:[_-]?base64)?|' +
  'client[_-]?(?:secret|key[_-]data)|credentials?|apikey|_auth';
const quote = String.raw`\\{0,3}["'` + '`]';
const bare = String.raw`[^\s"'` + '`' + String.raw`,;&|<>(){}\[\]\\\0\x1b]`;

const quotedValue = (open: string) =>
  String.raw`${open}(?:"([^"\n\\\0\x1b]{4,4096})(?=\\{0,3}")|'([^'\n\\\0\x1b]{4,4096})(?=\\{0,3}'))`;

export const places: readonly Place[] = [
  // "password": "…", password='…', :password => "…"
  {
    name: 'secret',
    trust: 'strong',
    source:
      `(?:${secretWord})(?:${quote})?\\]?[ \\t]{0,8}(?:=>|:=|==?|:)[ \\t]{0,8}` +
      quotedValue(String.raw`\\{0,3}`),
  },
  // DB_PASSWORD=… --token=… ?sig=…
  {
    name: 'secret',
    trust: 'strong',
    source: `(?:${secretWord})=(${bare}{4,4096})`,
  },
  // password: …, token = …
  {
    name: 'secret',
    trust: 'weak',
    source: `(?:${secretWord})(?:${quote})?[ \\t]{0,8}(?:=>|:=|=|:)[ \\t]{0,8}(${bare}{6,4096})`,
  },
  // --password …, -token …
  {
    name: 'secret',
    trust: 'weak',
    source: `-(?:${secretWord})[ \\t]{1,4}["']?(${bare}{6,4096})`,
  },
  {
    name: 'authorization',
    trust: 'strong',
    source: String.raw`authorization(?:${quote})?[ \t]{0,4}[:=][ \t]{0,4}(?:${quote})?(?:(?:bearer|basic|token|apikey|api-key|digest|negotiate|splunk|genie[Kk]ey|sso-key|bot)[ \t]{1,4})?(${bare}{8,8192})`,
  },
  {
    name: 'authorization',
    trust: 'weak',
    source: String.raw`bearer[ \t]{1,4}([A-Za-z0-9._~+\/-]{16,8192}={0,2})`,
  },
  {
    name: 'cookie',
    trust: 'weak',
    source: String.raw`(?:session|sessionid|session_id|sid|phpsessid|jsessionid|csrftoken|xsrf-token|remember_token|asp\.net_sessionid)=(${bare}{16,4096})`,
  },
  {
    name: 'signature',
    trust: 'weak',
    source: String.raw`[?&](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|key|code|auth)=(${bare}{16,4096})`,
  },
  {
    name: 'docker-auth',
    trust: 'strong',
    source: String.raw`"auth"[ \t]{0,4}:[ \t]{0,4}"([A-Za-z0-9+\/=]{8,4096})"`,
  },
  {
    name: 'connection-string',
    trust: 'strong',
    source: String.raw`;[ \t]{0,4}(?:password|pwd|accountkey|sharedaccesskey|accesskey)[ \t]{0,2}=[ \t]{0,2}([^\s;"']{4,512})`,
  },
  {
    name: 'url-password',
    trust: 'strong',
    source: String.raw`:\/\/[^\s\/:@"'<>\0\x1b]{0,256}:([^\s\/"'<>\0\x1b]{1,512})@`,
  },
  { name: 'url-password', trust: 'weak', source: String.raw`:\/\/([A-Za-z0-9_-]{32,255})@` },
  {
    name: 'netrc',
    trust: 'sure',
    source: String.raw`login[ \t]{1,8}[^\s]{1,256}[ \t]{1,8}password[ \t]{1,8}([^\s]{1,512})`,
  },
  {
    name: 'netrc',
    trust: 'weak',
    source: String.raw`password(?<=(?:^|\n)[ \t]{0,32}password)[ \t]{1,8}([^\s]{6,512})(?=[ \t]{0,8}(?:\r?\n|$))`,
  },
  {
    name: 'pgpass',
    trust: 'strong',
    source: String.raw`:543[0-9]:[^:\s]{1,64}:[^:\s]{1,64}:([^:\s]{4,256})(?=\r?\n|$)`,
  },
  {
    name: 'password',
    trust: 'strong',
    source: String.raw`(?:mysql|mariadb)[a-z]{0,10}[ \t](?:[^\n|;&]{0,200}[ \t])?-p([^\s"'=]{4,256})`,
  },
  {
    name: 'password',
    trust: 'strong',
    source: String.raw`sshpass[ \t]{1,4}-p[ \t]{0,4}["']?([^\s"']{4,256})`,
  },
  {
    name: 'password',
    trust: 'strong',
    source: String.raw`(?:docker|podman|helm registry|oras|az|oc)[ \t]{1,4}login[ \t](?:[^\n|;&]{0,200}[ \t])?-p[ \t]{1,4}["']?([^\s"']{4,256})`,
  },
  {
    name: 'password',
    trust: 'strong',
    source: String.raw`redis-cli[ \t](?:[^\n|;&]{0,200}[ \t])?-a[ \t]{1,4}["']?([^\s"']{4,256})`,
  },
  {
    name: 'password',
    trust: 'strong',
    source: String.raw`(?:curl|wget|http|https)[ \t](?:[^\n|;&]{0,400}[ \t])?(?:-u|--user|-a|--auth|--proxy-user|-U)[ \t=]{0,2}["']?[^\s:"'\/@]{1,128}:([^\s"'\/@]{3,256})`,
  },
];

/** A found secret: where its context and itself begin, where it ends. */
export type KeyedMatch = {
  readonly name: string;
  readonly from: number;
  readonly start: number;
  readonly end: number;
};

// Context keeps a place from being found in the middle of a longer word only where that matters; names end in the word.
const expression = new RegExp(places.map(({ source }) => source).join('|'), 'gi');
/** Number of captures of each place, in order. */
const captures = places.map(({ source }) => new RegExp(`${source}|`).exec('')!.length - 1);
const owners = captures.flatMap((count, index) => Array.from({ length: count }, () => index));

export function* keyedMatches(text: string, from: number): Generator<KeyedMatch> {
  expression.lastIndex = from;
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
    const { index, 0: whole } = match;
    const group = match.findIndex((value, at) => at > 0 && value !== undefined);
    const value = match[group]!;
    const place = places[owners[group - 1]!]!;
    // The capture is the last thing of the match but for a closing mark (`@`, `"`).
    const start = index + whole.lastIndexOf(value);
    const end = start + value.length;
    if (isPlausible(value, place, text, start)) {
      yield { name: place.name, from: index, start, end };
      expression.lastIndex = end;
    } else {
      expression.lastIndex = index + 1;
    }
  }
}

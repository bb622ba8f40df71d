/** Values that only their name or place tells: `password=…`, an Authorization header, the password in a URL. */
import { isPlausible } from './plausible.ts';
import type { Attempt } from './triggers.ts';

/** sure: whatever stands there; strong: all but placeholders; weak: only what looks random (see plausible.ts). */
export type Trust = 'sure' | 'strong' | 'weak';

/** A place for a secret. Case does not matter. */
export type Place = {
  readonly name: string;
  readonly trust: Trust;
  /** Three characters each, with one of which the source begins. */
  readonly triggers: readonly string[];
  /** Begins at the trigger (lookbehinds say what stands before); its only capture is the secret. */
  readonly source: string;
};

// A name that says secret: whole, or the end of a longer one (DB_PASSWORD, clientSecret).
const secretWord =
  'pass(?:word|wd|phrase|code|w)|(?<=[a-z0-9][_-]|db|user|root|admin)pass|pass(?=["\'=])|pwd|' +
  'secret(?:[ _-]?(?:access)?[ _-]?(?:key)?(?:[ _-]?base)?|[ _-]?(?:value|token))?|token|credentials?|_auth|' +
  '(?<=(?:api|app|access|private|preshared|encryption|signing|master|account|auth|service|license|deploy|storage|webhook|session|jwt|hmac|client)[ _-]?)key(?:[_-]?(?:base64|data))?';
const secretTriggers = ['pas', 'pwd', 'sec', 'tok', 'cre', '_au', 'key'];
const quote = '\\\\{0,3}["\'`]';
const bare = '[^\\s"\'`,;&|<>(){}\\[\\]\\\\\\0\\x1b]';
/** A value in quotes of its own, as one alternative with one capture. */
const quoted = '\\\\{0,3}["\']([^"\'\\n\\\\\\0\\x1b]{4,4096})(?=\\\\{0,3}["\'])';
const header = '(?:bearer|basic|token|apikey|api-key|negotiate|splunk|geniekey|sso-key|bot)';
/** A word of the command stands earlier on the line. */
const after = (commands: string) => `(?<=(?:^|[\\s/"'])(?:${commands})(?:[ \\t][^\\n|;&]{0,200})?)`;

export const places: readonly Place[] = [
  // "password": "…", password='…', :password => "…"
  {
    name: 'secret',
    trust: 'strong',
    triggers: secretTriggers,
    source: `(?:${secretWord})(?:${quote})?\\]?[ \\t]{0,8}(?:=>|:=|==?|:)[ \\t]{0,8}${quoted}`,
  },
  // DB_PASSWORD=… --token=…
  {
    name: 'secret',
    trust: 'strong',
    triggers: secretTriggers,
    source: `(?:${secretWord})=(${bare}{4,4096})`,
  },
  // password: …, token = …
  {
    name: 'secret',
    trust: 'weak',
    triggers: secretTriggers,
    source: `(?:${secretWord})(?:${quote})?[ \\t]{0,8}(?:=>|:=|=|:)[ \\t]{0,8}(${bare}{6,4096})`,
  },
  {
    name: 'secret',
    trust: 'strong',
    triggers: secretTriggers,
    source: `(?:${secretWord})(?<=<[a-z0-9_.:-]{1,64})>([^<>\\s\\0\\x1b]{4,4096})(?=<\\/)`,
  },
  // openssl … -passin pass:…
  {
    name: 'password',
    trust: 'strong',
    triggers: ['pas'],
    source: `pass(?<=-pass(?:in|out)?[ =]pass):(${bare}{4,256})`,
  },
  // --password …
  {
    name: 'secret',
    trust: 'weak',
    triggers: secretTriggers,
    source: `(?:${secretWord})(?<=--?[a-z-]{1,32})[ \\t]{1,4}["']?(${bare}{6,4096})`,
  },
  {
    name: 'authorization',
    trust: 'strong',
    triggers: ['aut'],
    source: `authorization(?:${quote})?[ \\t]{0,4}[:=][ \\t]{0,4}(?:${quote})?(?:${header}[ \\t]{1,4})?(${bare}{8,8192})`,
  },
  {
    name: 'authorization',
    trust: 'weak',
    triggers: ['bea'],
    source: 'bearer[ \\t]{1,4}([A-Za-z0-9._~+\\/-]{16,8192}={0,2})',
  },
  {
    name: 'cookie',
    trust: 'weak',
    triggers: ['ses', 'sid', 'csr', 'xsr'],
    source: `(?:session(?:[_-]?id)?|sid|csrf[_-]?token|csrf|xsrf-token)=(${bare}{16,4096})`,
  },
  {
    name: 'signature',
    trust: 'weak',
    triggers: ['sig', 'key', 'cod'],
    source: `(?:signature|sig|key|code)(?<=[?&](?:x-amz-|x-goog-)?[a-z]{3,9})=(${bare}{16,4096})`,
  },
  {
    name: 'docker-auth',
    trust: 'strong',
    triggers: ['"au'],
    source: '"auth"[ \\t]{0,4}:[ \\t]{0,4}"([A-Za-z0-9+\\/=]{8,4096})"',
  },
  {
    name: 'connection-string',
    trust: 'strong',
    triggers: ['pas', 'pwd', 'key'],
    source: `(?:password|pwd|key)(?<=[;"'][ \\t]{0,4}(?:password|pwd|accountkey|sharedaccesskey|accesskey))[ \\t]{0,2}=[ \\t]{0,2}([^\\s;"'\\0\\x1b]{4,512})`,
  },
  {
    name: 'url-password',
    trust: 'strong',
    triggers: ['://'],
    source: `:\\/\\/[^\\s\\/:@"'<>\\0\\x1b]{0,256}:([^\\s\\/"'<>\\0\\x1b]{1,512})@`,
  },
  { name: 'url-password', trust: 'weak', triggers: ['://'], source: ':\\/\\/([A-Za-z0-9_-]{32,255})@' },
  {
    name: 'netrc',
    trust: 'sure',
    triggers: ['pas'],
    source: 'password(?<=login[ \\t]{1,8}[^\\s]{1,256}[ \\t]{1,8}password)[ \\t]{1,8}([^\\s]{1,512})',
  },
  {
    name: 'netrc',
    trust: 'weak',
    triggers: ['pas'],
    source:
      'password(?<=(?:^|\\n)[ \\t]{0,32}password)[ \\t]{1,8}([^\\s]{6,512})(?=[ \\t]{0,8}(?:\\r?\\n|$))',
  },
  {
    name: 'pgpass',
    trust: 'strong',
    triggers: [':54'],
    source: ':543[0-9]:[^:\\s]{1,64}:[^:\\s]{1,64}:([^:\\s]{4,256})(?=\\r?\\n|$)',
  },
  {
    name: 'password',
    trust: 'strong',
    triggers: [' -p'],
    source: `${after('mysql[a-z]{0,10}|mariadb[a-z-]{0,10}')} -p([^\\s"'=]{4,256})`,
  },
  {
    name: 'password',
    trust: 'strong',
    triggers: [' -p', ' -a', ' -w'],
    source: `${after('sshpass|redis-cli|ldapsearch|docker login|podman login|oc login|az login|helm registry login')} -[paw][ \\t]{0,4}["']?([^\\s"']{4,256})`,
  },
  {
    name: 'password',
    trust: 'strong',
    triggers: [' -u', ' -U', ' --', ' -a'],
    source: `${after('curl|wget|http|https|xh')} (?:-u|--user|-a|--auth|--proxy-user|-U)[ \\t=]{0,2}["']?[^\\s:"'\\/@]{1,128}:([^\\s"'\\/@]{3,256})`,
  },
];

/** Finds what stands at one place. */
export function attemptPlace(place: Place): Attempt {
  const expression = new RegExp(place.source, 'yi');
  return (text, at) => {
    expression.lastIndex = at;
    const match = expression.exec(text);
    if (match === null) return null;
    const value = match[1]!;
    // The capture is the last thing of the match but for one closing mark.
    const start = at + match[0].lastIndexOf(value);
    if (!isPlausible(value, place, text, start)) return null;
    return { name: place.name, from: at, start, end: start + value.length };
  };
}

/**
 * Tokens that say what they are. Each shape is a head and a bounded body on one line; `before` is what may not stand
 * in front of the head, so that a run of the body's own characters is tried once and not at each of its places.
 */
import type { Attempt } from './triggers.ts';

export type Shape = {
  readonly name: string;
  readonly head: string;
  readonly body: string;
  /** Character class that may not precede the head; default letters and digits. */
  readonly before?: string;
  /** What of the token stands in front of the head (the head is what can be looked for). */
  readonly lead?: string;
};

const word = '[A-Za-z0-9]';
const dashed = '[A-Za-z0-9_-]';
const end = '(?![A-Za-z0-9])';

export const shapes: readonly Shape[] = [
  { name: 'github-token', head: 'gh[pousr]_', body: `${word}{36,255}` },
  { name: 'github-token', head: 'github_pat_', body: '[A-Za-z0-9_]{50,255}' },
  {
    name: 'gitlab-token',
    head: 'gl(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent|oas|ffct)-',
    body: `[A-Za-z0-9_.-]{20,300}`,
  },
  { name: 'gitlab-token', head: 'GR1348941', body: `${dashed}{20,64}` },
  { name: 'aws-access-key', head: '(?:AKIA|ASIA|ABIA|ACCA)', body: `[A-Z0-9]{16}${end}` },
  { name: 'aws-bedrock-key', head: 'ABSK', body: '[A-Za-z0-9+/]{100,300}={0,2}' },
  { name: 'google-api-key', head: 'AIza', body: `${dashed}{35}(?!${dashed})`, before: dashed },
  { name: 'google-oauth', head: 'ya29\\.', body: `[A-Za-z0-9._-]{20,2048}`, before: dashed },
  { name: 'google-oauth', head: 'GOCSPX-', body: `${dashed}{20,64}` },
  { name: 'google-oauth', head: '1//0', body: `${dashed}{30,200}`, before: '[A-Za-z0-9/_-]' },
  {
    name: 'azure-client-secret',
    head: '[78]Q~',
    body: '[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])',
    lead: '[A-Za-z0-9_~.-]{3}',
  },
  { name: 'slack-token', head: '(?:xox[abeoprs]|xoxe\\.xox[bp]|xapp)-', body: `${dashed}{10,300}` },
  {
    name: 'slack-webhook',
    head: 'hooks\\.slack\\.com/(?:services|workflows|triggers)/',
    body: '[A-Za-z0-9/_-]{20,200}',
  },
  {
    name: 'discord-webhook',
    head: 'discord(?:app)?\\.com/api/webhooks/',
    body: '[0-9]{15,22}/[A-Za-z0-9_-]{60,100}',
  },
  {
    name: 'discord-token',
    head: '[MNO][DTjz][AEIMQUYcgk]',
    body: `${dashed}{20,25}\\.${dashed}{6}\\.${dashed}{27,45}`,
    before: '[A-Za-z0-9_.-]',
  },
  { name: 'stripe-key', head: '(?:sk|rk)_(?:live|test)_', body: `${word}{16,255}` },
  { name: 'stripe-webhook', head: 'whsec_', body: '[A-Za-z0-9+/]{24,128}={0,2}' },
  { name: 'npm-token', head: 'npm_', body: `${word}{36}${end}` },
  { name: 'pypi-token', head: 'pypi-', body: `${dashed}{50,1024}`, before: dashed },
  { name: 'rubygems-token', head: 'rubygems_', body: '[a-f0-9]{48}(?![a-f0-9])' },
  { name: 'cargo-token', head: 'cio', body: `${word}{32}${end}` },
  { name: 'nuget-key', head: 'oy2', body: '[a-z0-9]{43}(?![A-Za-z0-9])' },
  { name: 'docker-token', head: 'dckr_(?:pat|oat)_', body: `${dashed}{20,64}` },
  {
    name: 'jwt',
    head: 'eyJ',
    body: `${dashed}{8,4096}\\.(?:eyJ|ey|[A-Za-z0-9_-]{0,3})${dashed}{4,6000}\\.${dashed}{0,1400}`,
    before: '[A-Za-z0-9_.-]',
  },
  {
    name: 'openai-key',
    head: 'sk-(?:proj|svcacct|admin|None|or-v1|lf)-',
    body: `${dashed}{20,255}`,
    before: dashed,
  },
  { name: 'openai-key', head: 'sk-', body: `${word}{20,64}(?!${dashed})`, before: dashed },
  { name: 'anthropic-key', head: 'sk-ant-', body: `${dashed}{20,255}`, before: dashed },
  { name: 'groq-key', head: 'gsk_', body: `${word}{40,64}` },
  { name: 'xai-key', head: 'xai-', body: `${word}{60,100}`, before: dashed },
  { name: 'perplexity-key', head: 'pplx-', body: `${word}{40,64}`, before: dashed },
  { name: 'replicate-token', head: 'r8_', body: `${word}{37,40}${end}` },
  { name: 'huggingface-token', head: '(?:hf|api_org)_', body: `[A-Za-z]{34}${end}` },
  { name: 'huggingface-token', head: 'hf_', body: `${word}{34,40}${end}` },
  { name: 'langsmith-key', head: 'lsv2_(?:pt|sk)_', body: '[a-f0-9]{32}_[a-f0-9]{10}' },
  { name: 'sendgrid-key', head: 'SG\\.', body: `${dashed}{16,32}\\.${dashed}{32,64}` },
  { name: 'twilio-key', head: 'SK', body: '[a-f0-9]{32}(?![A-Za-z0-9])' },
  { name: 'mailgun-key', head: 'key-', body: '[a-f0-9]{32}(?![A-Za-z0-9])', before: dashed },
  { name: 'brevo-key', head: 'xkeysib-', body: '[a-f0-9]{64}-[A-Za-z0-9]{16}' },
  { name: 'digitalocean-token', head: 'do[opr]_v1_', body: '[a-f0-9]{64}' },
  { name: 'vault-token', head: 'hv[sbr]\\.', body: `[A-Za-z0-9_-]{20,300}`, before: '[A-Za-z0-9_.-]' },
  {
    name: 'vault-token',
    head: '[sbr]\\.',
    body: `${word}{24}(?![A-Za-z0-9_.(-])`,
    before: '[A-Za-z0-9_.)\\]-]',
  },
  {
    name: 'terraform-token',
    head: '\\.atlasv1\\.',
    body: `[A-Za-z0-9=_-]{60,80}`,
    lead: `${word}{14}`,
  },
  { name: 'newrelic-key', head: 'NR(?:AK|AA|II|JS|RA)-', body: `${dashed}{20,64}` },
  { name: 'grafana-token', head: 'gl(?:sa|c)_', body: '[A-Za-z0-9+/_]{32,400}={0,2}' },
  { name: 'pulumi-token', head: 'pul-', body: '[a-f0-9]{40}(?![a-f0-9])', before: dashed },
  { name: 'databricks-token', head: 'dapi', body: '[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])' },
  { name: 'sentry-token', head: 'sntry[su]_', body: '[A-Za-z0-9+/=_-]{40,400}' },
  { name: 'figma-token', head: 'fig(?:d|o|u|or|oh)_', body: `${dashed}{30,100}` },
  { name: 'linear-key', head: 'lin_(?:api|oauth)_', body: `${word}{32,64}` },
  { name: 'shopify-token', head: 'shp(?:at|ca|pa|ss)_', body: '[a-fA-F0-9]{32}' },
  { name: 'postman-key', head: 'PMAK-', body: '[a-f0-9]{24}-[a-f0-9]{34}' },
  { name: 'doppler-token', head: 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.', body: `[A-Za-z0-9_.-]{40,80}` },
  { name: 'atlassian-token', head: 'AT(?:ATT3x|CTT3x)', body: '[A-Za-z0-9_=-]{60,300}' },
  { name: 'bitbucket-token', head: 'ATBB', body: `${word}{28,40}` },
  { name: 'planetscale-token', head: 'pscale_(?:tkn|pw|oauth)_', body: `[A-Za-z0-9_.-]{32,64}` },
  { name: 'supabase-token', head: 'sb(?:p|_secret)_', body: `[A-Za-z0-9_]{20,64}` },
  { name: 'netlify-token', head: 'nf[pcou]_', body: `${word}{36,64}` },
  { name: 'fly-token', head: '(?:fo1_|fm[12][ar]?_)', body: '[A-Za-z0-9+/=_-]{40,2000}' },
  { name: 'tailscale-key', head: 'tskey-(?:auth|api|client|scim|webhook)-', body: `${dashed}{20,100}` },
  { name: 'buildkite-token', head: 'bk(?:ua|ct|cq)_', body: `${word}{36,64}` },
  { name: 'circleci-token', head: 'CCI(?:PAT|PRJ)_', body: `[A-Za-z0-9_]{40,100}` },
  { name: 'notion-token', head: 'ntn_', body: `${word}{40,60}` },
  { name: 'notion-token', head: 'secret_', body: `${word}{43}${end}` },
  { name: 'square-token', head: 'sq0(?:atp|csp)-', body: `${dashed}{22,43}` },
  {
    name: 'braintree-token',
    head: 'access_token\\$(?:production|sandbox)\\$',
    body: '[a-z0-9]{16}\\$[a-f0-9]{32}',
  },
  { name: 'airtable-token', head: 'pat[A-Za-z0-9]{14}\\.', body: '[a-f0-9]{64}' },
  { name: 'mapbox-token', head: 'sk\\.eyJ', body: `${dashed}{20,255}\\.${dashed}{20,64}` },
  {
    name: 'telegram-token',
    head: ':AA',
    body: `${dashed}{32,34}(?!${dashed})`,
    lead: '(?:(?<![A-Za-z0-9])|(?<=/bot))[0-9]{8,10}',
  },
  { name: 'age-secret-key', head: 'AGE-SECRET-KEY-1', body: '[0-9A-Z]{58}' },
  { name: 'artifactory-token', head: 'AKCp', body: `${word}{60,80}${end}` },
  { name: 'onepassword-token', head: 'ops_eyJ', body: '[A-Za-z0-9+/=_-]{200,2000}' },
  { name: 'dropbox-token', head: 'sl\\.(?:u\\.)?', body: `${dashed}{130,1500}`, before: '[A-Za-z0-9_.-]' },
  { name: 'heroku-token', head: 'HRKU-', body: `${dashed}{36,70}` },
  {
    name: 'crypt-hash',
    head: '\\$(?:[156]|apr1|y|2[aby])\\$',
    body: '(?:rounds=[0-9]{1,9}\\$)?[./A-Za-z0-9]{1,22}\\$?[./A-Za-z0-9]{22,86}',
  },
];

/** In front of a letter: it belongs to an escape ("\\nghp_…", "%3Dghp_…", "\\u003dghp_…"), not to a word. */
const escaped = '\\\\|%[0-9A-Fa-f]|\\\\x[0-9A-Fa-f]|\\\\u[0-9A-Fa-f]{3}';

/** The shape as an expression that begins at the head; what stands before it is looked at last, where few places get. */
export function shapeSource({ head, body, before = word, lead }: Shape): string {
  return lead === undefined
    ? `${head}(?<!(?<!${escaped})${before}${head})${body}`
    : `(?<=(${lead}))${head}${body}`;
}

/** Finds one shape where its head stands. */
export function attemptShape(shape: Shape): Attempt {
  const expression = new RegExp(shapeSource(shape), 'y');
  return (text, at) => {
    expression.lastIndex = at;
    const match = expression.exec(text);
    if (match === null) return null;
    const start = at - (match[1]?.length ?? 0);
    return { name: shape.name, from: start, start, end: at + match[0].length };
  };
}

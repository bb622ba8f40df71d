/** The closed set of substitutions in a descriptor: `%{name}`, `%{env:NAME}` and `%{env:NAME:last20}`. */

export const placeNames = ['home', 'harness', 'node', 'relay', 'workspace', 'files', 'url', 'token'] as const;
export type PlaceName = (typeof placeNames)[number];

export type Values = {
  readonly places: Readonly<Record<PlaceName, string>>;
  /** What the operator passes from the host's environment. */
  readonly env: Readonly<Record<string, string>>;
};

/** `secret`: the placeholder stands for a credential; `unknown`: it is none of the closed set. */
export type Placeholder = {
  readonly text: string;
  readonly kind: 'place' | 'token' | 'env' | 'env-tail' | 'unknown';
};

const opening = /%\{([^}]*)\}?/g;
const envShape = /^env:([A-Za-z_][A-Za-z0-9_]*)(:last20)?$/;

function classify(body: string, text: string): Placeholder['kind'] {
  if (!text.endsWith('}')) return 'unknown';
  if (body === 'token') return 'token';
  if ((placeNames as readonly string[]).includes(body)) return 'place';
  const env = envShape.exec(body);
  if (env === null) return 'unknown';
  return env[2] === undefined ? 'env' : 'env-tail';
}

/** Every placeholder of a string, in order. */
export function placeholders(text: string): Placeholder[] {
  return [...text.matchAll(opening)].map(([whole, body = '']) => ({
    text: whole,
    kind: classify(body, whole),
  }));
}

/** The string with its placeholders filled; a variable that is not passed is empty. What was filled in is never read again. */
export function fill(text: string, values: Values): string {
  return text.replace(opening, (whole, body: string) => {
    const kind = classify(body, whole);
    if (kind === 'place' || kind === 'token') return values.places[body as PlaceName];
    const env = envShape.exec(body);
    if (env === null)
      throw new Error(`unknown placeholder ${whole}: descriptors are checked before they are filled`);
    const value = Object.hasOwn(values.env, env[1] ?? '') ? (values.env[env[1] ?? ''] ?? '') : '';
    return env[2] === undefined ? value : value.slice(-20);
  });
}

/** The JSON value with every string and every key filled. */
export function fillJson(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return fill(value, values);
  if (Array.isArray(value)) return value.map((item) => fillJson(item, values));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [fill(key, values), fillJson(item, values)]),
    );
  return value;
}

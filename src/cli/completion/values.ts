/** Values that only this machine knows: sessions, harnesses, requests, tools. */
export type Values = readonly string[] | 'files';

type Ask = () => Promise<Values>;

const sessions: Ask = async () => {
  const { listSessions } = await import('../../up/session.ts');
  const found = await listSessions(process.env);
  return found.flatMap(({ session }) => (session === null ? [] : [session.state.name]));
};

const harnesses: Ask = async () => {
  const { listDescriptors } = await import('../../harness/descriptor.ts');
  return (await listDescriptors(process.env)).map(({ name }) => name);
};

const tools: Ask = async () => {
  const { loadConfig } = await import('../../config/load.ts');
  return Object.keys((await loadConfig({ env: process.env })).config.tools);
};

const requests: Ask = async () => {
  const { openLedger } = await import('../requests-desk.ts');
  const { requests: all } = await openLedger({});
  return [...all.values()].filter(({ status }) => status === 'pending').map(({ id }) => id);
};

const grants: Ask = async () => {
  const { openLedger } = await import('../requests-desk.ts');
  const { stateOf } = await import('../../requests/types.ts');
  const now = Date.now();
  const { grants: all } = await openLedger({});
  return [...all.values()].filter((grant) => stateOf(grant, now) === 'live').map(({ id }) => id);
};

const of =
  (...values: readonly string[]): Ask =>
  async () =>
    values;
const files: Ask = async () => 'files';

/** By the command's path and the argument's name or the option; the first that fits. */
const known: readonly (readonly [RegExp, Ask])[] = [
  [/^(?:exec|down|logs|inspect) name$|^restart(?: reconcile)? (?:namespace|name)$/, sessions],
  [/^up harness$|^harness \w+ name$/, harnesses],
  [/^requests \w+ id$/, requests],
  [/^grants \w+ id$/, grants],
  [/^introspect tool$|^policy allow --tool$/, tools],
  [/^completion shell$/, of('bash', 'zsh', 'fish')],
  [/ --runtime$/, of('auto', 'guix', 'devcontainer', 'bubblewrap')],
  [/ --transport$/, of('http', 'sse', 'stdio')],
  [/ --mode$/, of('restart', 'reload')],
  [/ --devcontainer$/, of('workspace')],
  [/^policy diff (?:old|new)$/, files],
];

/** None where nobody but the operator knows. */
export async function valuesFor(path: string, name: string, isFile: boolean): Promise<Values> {
  if (isFile) return 'files';
  const found = known.find(([pattern]) => pattern.test(`${path} ${name}`));
  return found === undefined ? [] : await found[1]();
}

/** The files of its build context that a Dockerfile names: only those go into the build. Pure. */

/** `null`: it may name any, by a variable. Patterns as COPY has them, relative to the context. */
export function namedSources(text: string): readonly string[] | null {
  const sources: string[] = [];
  for (const line of instructions(text)) {
    const found = sourcesOf(line);
    if (found === null) return null;
    sources.push(...found);
  }
  return sources;
}

/** Logical lines; the bodies of here-documents are lines of their own that mean nothing. */
export function instructions(text: string): readonly string[] {
  const escape = /^#\s*escape\s*=\s*`\s*$/im.test(text.split('\n').slice(0, 5).join('\n')) ? '`' : '\\';
  const made: string[] = [];
  let open = '';
  let until: string | null = null;
  for (const line of text.split(/\r?\n/)) {
    if (until !== null) {
      if (line.replace(/^\t+/, '') === until) until = null;
      continue;
    }
    if (/^\s*(#|$)/.test(line)) continue;
    const trimmed = line.trimEnd();
    if (trimmed.endsWith(escape)) {
      open += `${trimmed.slice(0, -1)} `;
      continue;
    }
    const whole = `${open}${trimmed}`.trim();
    open = '';
    made.push(whole);
    until =
      /^(?:ONBUILD\s+)?(?:RUN|COPY|ADD)\b.*?<<-?\s*["']?([A-Za-z0-9_.]+)["']?/i.exec(whole)?.[1] ?? null;
  }
  if (open.trim() !== '') made.push(open.trim());
  return made;
}

function sourcesOf(line: string): readonly string[] | null {
  const [, , word = '', rest = ''] = /^(ONBUILD\s+)?([A-Za-z]+)\s+([^]*)$/i.exec(line) ?? [];
  const name = word.toUpperCase();
  if (name === 'RUN') return bindSources(rest);
  if (name !== 'COPY' && name !== 'ADD') return [];
  let args = rest;
  let foreign = false;
  for (
    let flag = /^--([a-z]+)(?:=(\S*))?\s+/.exec(args);
    flag !== null;
    flag = /^--([a-z]+)(?:=(\S*))?\s+/.exec(args)
  ) {
    foreign ||= flag[1] === 'from';
    args = args.slice(flag[0].length);
  }
  if (foreign) return [];
  const words = args.startsWith('[') ? jsonWords(args) : args.split(/\s+/);
  if (words === null) return null;
  return words.slice(0, -1).some((one) => one.includes('$'))
    ? null
    : words.slice(0, -1).filter((one) => !/^(<<|https?:|git@|git:)/.test(one));
}

/** `RUN --mount=type=bind,source=…` without `from`. */
function bindSources(rest: string): readonly string[] | null {
  const found: string[] = [];
  for (const [, spec = ''] of rest.matchAll(/--mount=(\S+)/g)) {
    const fields = new Map(
      spec.split(',').map((field) => {
        const at = field.indexOf('=');
        return [at === -1 ? field : field.slice(0, at), at === -1 ? '' : field.slice(at + 1)] as const;
      }),
    );
    if ((fields.get('type') ?? 'bind') !== 'bind' || fields.has('from')) continue;
    const source = fields.get('source') ?? fields.get('src') ?? '.';
    if (source.includes('$')) return null;
    found.push(source);
  }
  return found;
}

function jsonWords(text: string): readonly string[] | null {
  try {
    const words = JSON.parse(text) as unknown;
    return Array.isArray(words) && words.every((one) => typeof one === 'string') ? words : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

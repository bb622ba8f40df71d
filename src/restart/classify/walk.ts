/** Walks a script as a shell would run it, every branch of it, and gives what it would print. */
import { parse } from 'unbash';
import type {
  Assignment,
  Command,
  CommandNode,
  CompoundList,
  ParsedScript,
  PipelineNode,
  Redirection,
  Statement,
  Word,
} from 'unbash';
import { Expander } from './expand.ts';
import { isKnown } from './holes.ts';
import { childShell, longestText, newShell, type Input, type Machine, type Shell } from './machine.ts';
import { runVerb } from './verbs/run.ts';
import { wroteFile } from './verbs/files.ts';
import { mentionsKill } from './verbs/names.ts';

type Node = Parameters<Walker['node']>[0];
const longestLoop = 200;
const commandVariables =
  /^(?:EDITOR|VISUAL|SUDO_EDITOR|PAGER|MANPAGER|BROWSER|LESSOPEN|LESSCLOSE|GIT_(?:EDITOR|SEQUENCE_EDITOR|PAGER|SSH|SSH_COMMAND|ASKPASS|EXTERNAL_DIFF)|SSH_ASKPASS|PROMPT_COMMAND)$/;

/** Makes the machine able to run commands and texts. */
export function connect(m: Machine): void {
  const walker = new Walker(m);
  m.connect({
    exec: (argv, shell, input) => walker.exec(argv, shell, input),
    text: (source, shell, input) => walker.source(source, shell, input),
  });
}

class Walker {
  readonly #m: Machine;
  readonly #expand: Expander;

  constructor(m: Machine) {
    this.#m = m;
    this.#expand = new Expander(m, (script, shell, input) => this.script(script, shell, input));
  }

  source(text: string, shell: Shell, input: Input): string {
    if (text.length > longestText * 2 || !this.#m.charge(1 + text.length / 64)) {
      this.#m.incomplete = true;
      return '';
    }
    const inner = this.#m.wasDecoded(text) ? { ...shell, indirect: true } : shell;
    const script = parse(text);
    // Text that another language or a decoder gave need not be shell; unknown pieces may break it too.
    if ((script.errors?.length ?? 0) > 0 && !inner.indirect && mentionsKill(text)) this.#m.incomplete = true;
    return this.#m.deeper(() => this.script(script, inner, input));
  }

  script(script: ParsedScript, shell: Shell, input: Input): string {
    return this.#statements(script.commands, shell, input);
  }

  #statements(statements: readonly Statement[], shell: Shell, input: Input): string {
    let out = '';
    for (const { command } of statements) out += this.node(command, shell, input);
    return this.#m.bounded(out);
  }

  #list(list: CompoundList, shell: Shell, input: Input): string {
    return this.#statements(list.commands, shell, input);
  }

  node(node: PipelineNode | Statement['command'] | CompoundList, shell: Shell, input: Input): string {
    if (!this.#m.charge(1)) return '';
    switch (node.type) {
      case 'AndOr':
        return node.commands.map((command) => this.node(command, shell, input)).join('');
      case 'Pipeline':
        return this.#pipeline(node.commands, shell, input);
      case 'CompoundList':
        return this.#list(node, shell, input);
      case 'Command':
        return this.#command(node, shell, input);
      case 'Redirected':
        return this.#redirected(node.redirects, shell, input, (inner) =>
          this.node(node.command, shell, inner),
        );
      case 'Function':
        shell.functions.set(node.name.value, node);
        return '';
      case 'Coproc':
        return this.node(node.body, shell, input);
      case 'Subshell':
      case 'BraceGroup':
        return this.#list(node.body, shell, input);
      case 'TestCommand':
      case 'ArithmeticCommand':
        return this.#inside(node, shell);
      default:
        return this.#compound(node, shell, input);
    }
  }

  #compound(
    node: Extract<Node, { type: 'If' | 'For' | 'ArithmeticFor' | 'Select' | 'While' | 'Case' }>,
    shell: Shell,
    input: Input,
  ): string {
    switch (node.type) {
      case 'If': {
        let out = this.#list(node.clause, shell, input);
        const ways = [node.then, ...node.elif.flatMap(({ clause, then }) => [clause, then])];
        out += this.#branches(node.else === undefined ? ways : [...ways, node.else], shell, input);
        return out;
      }
      case 'Case':
        this.#expand.text(node.word, shell);
        return this.#branches(
          node.items.map(({ body }) => body),
          shell,
          input,
        );
      case 'While':
        return this.#while(node.clause, node.body, shell, input);
      case 'ArithmeticFor':
        return this.#list(node.body, shell, input);
      default: {
        const words =
          node.wordlist === undefined ? shell.positional.slice(1) : this.#expand.fields(node.wordlist, shell);
        const values =
          words.length > longestLoop
            ? [this.#m.blurred(words.join(' ')), ...words.slice(0, longestLoop)]
            : words;
        let out = '';
        for (const value of values) {
          shell.vars.set(node.name.value, [value]);
          out += this.#list(node.body, shell, input);
        }
        return this.#m.bounded(out);
      }
    }
  }

  /** Every branch from the same state; a variable that they leave with different values may have any of them. */
  #branches(ways: readonly CompoundList[], shell: Shell, input: Input): string {
    const before = new Map(shell.vars);
    const ends: Map<string, readonly string[]>[] = [before];
    let out = '';
    for (const way of ways) {
      shell.vars.clear();
      for (const [name, value] of before) shell.vars.set(name, value);
      out += this.#list(way, shell, input);
      ends.push(new Map(shell.vars));
    }
    for (const name of new Set(ends.flatMap((end) => [...end.keys()]))) {
      const texts = [
        ...new Set(ends.flatMap((end) => (end.has(name) ? [(end.get(name) ?? []).join(' ')] : []))),
      ];
      const one = texts[0];
      if (one !== undefined)
        shell.vars.set(name, [texts.length === 1 ? one : this.#m.hole({ of: 'any', texts })]);
    }
    return this.#m.bounded(out);
  }

  #while(clause: CompoundList, body: CompoundList, shell: Shell, input: Input): string {
    let out = '';
    for (let round = 0; round < longestLoop; round += 1) {
      const before = input.rest;
      out += this.#list(clause, shell, input);
      out += this.#list(body, shell, input);
      // Only a loop that reads has something new to do in its next round.
      if (input.rest === before || input.rest === '' || !isKnown(input.rest)) break;
    }
    return this.#m.bounded(out);
  }

  #pipeline(commands: readonly CommandNode[], shell: Shell, input: Input): string {
    let current = input;
    let out = '';
    for (const [index, command] of commands.entries()) {
      out = this.node(command, index === 0 ? shell : { ...shell }, current);
      current = { rest: out };
    }
    return out;
  }

  /** Substitutions inside `[[ ]]` and `(( ))`. */
  #inside(node: Extract<Node, { type: 'TestCommand' | 'ArithmeticCommand' }>, shell: Shell): string {
    if (node.type === 'ArithmeticCommand') {
      const [, name, value] = /^\s*([A-Za-z_]\w*)\s*=([^=].*)$/s.exec(node.body) ?? [];
      const text = `$((${value ?? node.body}))`;
      const statement = parse(`: ${text}`).commands[0]?.command;
      const word = statement?.type === 'Command' ? statement.suffix[0] : undefined;
      const result = word?.type === 'Word' ? this.#expand.text(word, shell) : '';
      if (name !== undefined) shell.vars.set(name, [result]);
      return '';
    }
    this.#test(node.expression, shell);
    return '';
  }

  #test(expression: Extract<Node, { type: 'TestCommand' }>['expression'], shell: Shell): void {
    if (expression.type === 'TestUnary') this.#expand.text(expression.operand, shell);
    else if (expression.type === 'TestBinary') {
      this.#expand.text(expression.left, shell);
      this.#expand.text(expression.right, shell);
    } else if (expression.type === 'TestLogical')
      for (const operand of expression.operands) this.#test(operand, shell);
    else this.#test(expression.type === 'TestNot' ? expression.operand : expression.expression, shell);
  }

  #command(node: Command, shell: Shell, input: Input): string {
    const assignments = node.prefix.filter((one) => one.type === 'Assignment');
    for (const one of assignments) this.#assign(one, shell);
    if (node.name !== undefined) this.#runLater(assignments, shell);
    const words = node.args.map((one) => (one.type === 'Assignment' ? wordOf(one) : one));
    const argv = node.name === undefined ? [] : this.#expand.fields([node.name, ...words], shell);
    this.#declare(argv[0], node.args, shell);
    // `$(<FILE)` is the file's content.
    if (argv.length === 0 && node.redirects.length > 0)
      return this.#redirected(node.redirects, shell, { rest: '' }, (inner) => inner.rest);
    return this.#redirected(node.redirects, shell, input, (inner) => this.exec(argv, shell, inner));
  }

  /** `export A=x`, `declare -a B=(…)`: their arguments are assignments. */
  #declare(name: string | undefined, args: Command['args'], shell: Shell): void {
    if (name === undefined || !/^(?:export|declare|typeset|local|readonly)$/.test(name)) return;
    const given = args.filter((one) => one.type === 'Assignment');
    for (const one of given) this.#assign(one, shell);
    if (name === 'export') this.#runLater(given, shell);
  }

  /** Variables that hold a command line, in the environment of programs that run it. */
  #runLater(given: readonly Assignment[], shell: Shell): void {
    for (const { name } of given)
      if (commandVariables.test(name))
        this.source((shell.vars.get(name) ?? []).join(' ').replace(/^\|/, ''), childShell(shell), {
          rest: '',
        });
  }

  #assign({ name, value, append, index }: Assignment, shell: Shell): void {
    const values =
      value.type === 'ArrayValue'
        ? this.#expand.fields(value.elements, shell)
        : [this.#expand.text(value, shell)];
    this.#expand.text(index, shell);
    const old = shell.vars.get(name) ?? [];
    if (append !== true && index === undefined) shell.vars.set(name, values);
    else if (value.type === 'ArrayValue' || index !== undefined)
      shell.vars.set(name, [...old, ...values].slice(0, longestLoop));
    else shell.vars.set(name, [this.#m.bounded((old[0] ?? '') + (values[0] ?? ''))]);
  }

  /** Runs with the redirections: what goes into a file is kept, what comes from one is given. */
  #redirected(
    redirects: readonly Redirection[],
    shell: Shell,
    input: Input,
    run: (input: Input) => string,
  ): string {
    let inner = input;
    let file: { name: string; append: boolean } | null = null;
    for (const one of redirects) {
      if (one.type === 'HereString') inner = { rest: `${this.#expand.text(one.target, shell)}\n` };
      else if (one.type === 'HereDoc') {
        const { parts, text } = one.body;
        const quoted = one.delimiter?.quoted === true;
        inner = { rest: parts === undefined || quoted ? text : this.#expand.parts(parts, shell) };
      } else {
        const name = this.#expand.text(one.target, shell);
        if (one.operator === '<' || one.operator === '<>') inner = { rest: this.#read(name) };
        else if (/^(?:>|>>|>\||&>|&>>)$/.test(one.operator) && /^[1&]?$/.test(descriptorOf(one)))
          file = { name, append: one.operator.endsWith('>>') };
      }
    }
    const out = run(inner);
    if (file === null) return out;
    wroteFile(this.#m, shell, file.name, out, file.append);
    return '';
  }

  #read(name: string): string {
    return this.#m.files.get(name) ?? this.exec(['cat', name], newShell(), { rest: '' });
  }

  exec(argv: readonly string[], shell: Shell, input: Input): string {
    const name = argv[0];
    if (name === undefined) return '';
    const size = argv.reduce((sum, word) => sum + word.length, input.rest.length);
    if (!this.#m.charge(1 + size / 512)) return '';
    const body = shell.functions.get(name);
    if (body !== undefined && !shell.external) return this.#call(name, body.body, argv, shell, input);
    const alias = shell.aliases.get(name);
    if (alias !== undefined && !shell.external && !shell.active.has(name)) {
      const active = new Set([...shell.active, name]);
      const text = [alias, ...argv.slice(1).map(quote)].join(' ');
      return this.source(text, { ...shell, active }, input);
    }
    return this.#m.deeper(() => runVerb({ m: this.#m, name, args: argv.slice(1), shell, input }));
  }

  #call(name: string, body: Node, argv: readonly string[], shell: Shell, input: Input): string {
    if (shell.active.has(name)) return '';
    const active = new Set([...shell.active, name]);
    return this.#m.deeper(() => this.node(body, { ...shell, positional: argv, active }, input));
  }
}

function descriptorOf(one: Extract<Redirection, { type: 'Redirect' }>): string {
  if (one.operator.startsWith('&')) return '&';
  return one.descriptor?.type === 'FileDescriptor' ? String(one.descriptor.value) : '';
}

/** An assignment that stands as an argument is a word like any other to the program. */
function wordOf(one: Assignment): Word {
  const { type: _type, ...place } = one;
  if (one.value.type === 'ArrayValue') return { ...place, type: 'Word', value: one.text };
  const head = {
    type: 'Literal' as const,
    pos: one.pos,
    end: one.pos,
    value: `${one.name}=`,
    text: `${one.name}=`,
  };
  const value = one.value;
  const parts = value.parts ?? [
    { type: 'Literal' as const, pos: value.pos, end: value.end, value: value.value, text: value.text },
  ];
  return {
    type: 'Word',
    text: one.text,
    value: one.text,
    pos: one.pos,
    end: one.end,
    parts: [head, ...parts],
  };
}

/** A word as shell text that means it. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Layouts of parser libraries that the corpus does not have, one text each: what must be read from it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseHelp } from '../../src/introspect/help/parse.ts';

/** Flags as `-s,--long=` (`=` takes a value, `?` may take one), in the order of the text. */
function flagsOf(text: string): string[] {
  return parseHelp(text).flags.map(
    ({ short, long, value }) =>
      [short, long].filter((name) => name !== null).join(',') +
      { none: '', required: '=', optional: '?' }[value],
  );
}

type Layout = {
  readonly what: string;
  readonly text: string;
  readonly subcommands?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
};

const layouts: readonly Layout[] = [
  {
    what: 'argparse with subparsers: names in braces, each explained below',
    text: `usage: store [-h] [--db FILE] {add,list,remove} ...

positional arguments:
  {add,list,remove}
    add              put something in
    list             show what is there
    remove           take something out

options:
  -h, --help         show this help message and exit
  --db FILE          where it is kept (default: store.db)
  -l {debug,info}, --level {debug,info}
                     how much to say
  --fast, --no-fast  be quick
`,
    subcommands: { add: 'put something in', list: 'show what is there', remove: 'take something out' },
    flags: ['-h,--help', '--db=', '-l,--level=', '--fast', '--no-fast'],
  },
  {
    what: 'thor: the program before each command, # before the description',
    text: `Commands:
  gemmy build FILE [OPTIONS]  # Build a gem
  gemmy help [COMMAND]        # Describe available commands or one specific command
  gemmy push                  # Send it away

Options:
  [--dir=DIR]                 # Where
  -v, [--verbose], [--no-verbose]  # Say more
`,
    subcommands: {
      build: 'Build a gem',
      help: 'Describe available commands or one specific command',
      push: 'Send it away',
    },
    flags: ['--dir=', '-v,--verbose', '--no-verbose'],
  },
  {
    what: 'yargs with commands: program first, types in brackets at the end',
    text: `shop <command>

Commands:
  shop buy <item>   Buy an item
  shop sell [item]  Sell an item                                [aliases: vend]

Options:
      --version  Show version number                                   [boolean]
      --help     Show help                                             [boolean]
  -p, --price    How much                                    [number] [required]
`,
    subcommands: { buy: 'Buy an item', sell: 'Sell an item                                [aliases: vend]' },
    flags: ['--version', '--help', '-p,--price='],
  },
  {
    what: 'docopt: no comma between the names',
    text: `Naval Fate.

Usage:
  naval_fate ship new <name>...
  naval_fate ship <name> move <x> <y> [--speed=<kn>]
  naval_fate -h | --help

Options:
  -h --help     Show this screen.
  --speed=<kn>  Speed in knots [default: 10].
  -o FILE --output=FILE  Where to write.
`,
    subcommands: { ship: '' },
    flags: ['-h,--help', '--speed=', '-o,--output='],
  },
  {
    what: 'picocli: equals signs and brackets',
    text: `Usage: pico [-hV] [-c=<count>] [COMMAND]
Counts.
  -c, --count=<count>   how many
  -h, --help            Show this help message and exit.
  -V, --version         Print version information and exit.
Commands:
  start  Begins.
  stop   Ends.
`,
    subcommands: { start: 'Begins.', stop: 'Ends.' },
    flags: ['-c,--count=', '-h,--help', '-V,--version'],
  },
  {
    what: 'System.CommandLine: names joined by a bar, operands in angles',
    text: `Description:
  Builds things

Usage:
  dot [command] [options]

Options:
  -v|--verbosity <LEVEL>  How much to say
  -?, -h, --help          Show help and usage information

Commands:
  build <PROJECT>  Builds
  run              Runs
`,
    subcommands: { build: 'Builds', run: 'Runs' },
    flags: ['-v,--verbosity=', '-?,--help', '-h'],
  },
  {
    what: 'a manual page: headings in capitals, descriptions on lines of their own, bold by overstrikes',
    text: `N\bNA\bAM\bME\bE
       tool - does things

SYNOPSIS
       tool [OPTION]... FILE

OPTIONS
       -a, --all
              Everything.

       --depth=N
              How deep.

EXAMPLES
       -z is not an option here.
`,
    flags: ['-a,--all', '--depth='],
  },
  {
    what: 'cobra: lower-case types before the gap, shared flags under a heading of their own',
    text: `Ships it.

Usage:
  ship [command]

Available Commands:
  completion  Generate the autocompletion script
  send        Send a parcel

Flags:
      --config string   config file (default is $HOME/.ship.yaml)
  -t, --toggle          Help message for toggle
      --when string[="now"]   when to send

Additional help topics:
  ship topics  About topics

Use "ship [command] --help" for more information about a command.
`,
    subcommands: { completion: 'Generate the autocompletion script', send: 'Send a parcel' },
    flags: ['--config=', '-t,--toggle', '--when?'],
  },
  {
    what: 'clap in its long form: everything hangs below its name, in colours',
    text: `\u001b[1mUsage:\u001b[0m crab [OPTIONS] <COMMAND>

\u001b[1mCommands:\u001b[0m
  \u001b[1mdig\u001b[0m
          Dig a hole
  hide
          Hide in it

Options:
      --color <WHEN>
          Colour it

          [default: auto]
          [possible values: auto, always]

  -h, --help
          Print help
`,
    subcommands: { dig: 'Dig a hole', hide: 'Hide in it' },
    flags: ['--color=', '-h,--help'],
  },
  {
    what: 'commander: names, operands and a description, help as a command',
    text: `Usage: split [options] [command]

Options:
  -s, --separator <char>  separator character (default: ",")
  --first                 display just the first substring
  -d, --debug [level]     say more
  -h, --help              display help for command

Commands:
  join|j [options] <parts...>  put together
  help [command]               display help for command
`,
    subcommands: { join: 'put together', help: 'display help for command' },
    flags: ['-s,--separator=', '--first', '-d,--debug?', '-h,--help'],
  },
  {
    what: 'flags that may be negated are two names',
    text: `usage: neg [<options>]

    -v, --[no-]verbose    be more verbose
    --[no-]color[=<when>] colour it
`,
    flags: ['-v,--verbose', '--no-verbose', '--color?', '--no-color?'],
  },
  {
    what: 'a usage alone: letters in a cluster, and those with operands',
    text: `usage: mail [-dEIinv] [-a header] [-s subject] to-addr ...
`,
    flags: ['-d', '-E', '-I', '-i', '-n', '-v', '-a=', '-s='],
  },
  {
    what: 'kong: the description of a command hangs below it',
    text: `Usage: app <command> [flags]

Flags:
  -h, --help     Show context-sensitive help.
      --debug    Enable debug mode.

Commands:
  rm <path> ... [flags]
    Remove files.

  ls [<path> ...] [flags]
    List paths.

Run "app <command> --help" for more information on a command.
`,
    subcommands: { rm: 'Remove files.', ls: 'List paths.' },
    flags: ['-h,--help', '--debug'],
  },
  {
    what: 'urfave/cli: an operand behind each name, categories among the commands',
    text: `NAME:
   greet - says it

USAGE:
   greet [global options] command [command options] [arguments...]

COMMANDS:
   add, a   add a task
   help, h  Shows a list of commands or help for one command

   template actions:
     render, r  render one

GLOBAL OPTIONS:
   --lang value, -l value  language (default: "english")
   --help, -h              show help
`,
    subcommands: {
      add: 'add a task',
      help: 'Shows a list of commands or help for one command',
      render: 'render one',
    },
    flags: ['-l,--lang=', '-h,--help'],
  },
  {
    what: 'typer: sections in frames, names and types in columns of their own',
    text: `
 Usage: typ [OPTIONS] COMMAND [ARGS]...

╭─ Options ───────────────────────╮
│ *  --name   -n      TEXT  Who [required]  │
│    --force                Do not ask      │
│    --help                 Show this       │
╰─────────────────────────────────╯
╭─ Commands ──────────────────────╮
│ create   Create a user.                   │
│ delete   Delete a user.                   │
╰─────────────────────────────────╯
`,
    subcommands: { create: 'Create a user.', delete: 'Delete a user.' },
    flags: ['-n,--name=', '--force', '--help'],
  },
  {
    what: 'Symfony Console: one letter given more than once, names with colons',
    text: `Usage:
  command [options] [arguments]

Options:
  -h, --help            Display help for the given command
      --ansi|--no-ansi  Force (or disable --no-ansi) ANSI output
  -v|vv|vvv, --verbose  Increase the verbosity of messages

Available commands:
  about        Shows a short information
 cache
  cache:clear  Clears it
`,
    subcommands: { about: 'Shows a short information', 'cache:clear': 'Clears it' },
    flags: ['-h,--help', '--ansi', '--no-ansi', '-v,--verbose'],
  },
  {
    what: 'a usage in several parts, flags among its words',
    text: `Usage:\tnet ns list
\tnet ns add NAME
\tnet [-all] ns delete [NAME]

\tnet ns { show | flush } [ proxy ]
`,
    subcommands: { list: '', add: '', delete: '', show: '', flush: '' },
    flags: ['-all'],
  },
  {
    what: 'a number in place of a letter is no flag, and no letters',
    text: `Usage: fold [-WIDTH] [-bs] [FILE]
 -<signal>, -s, --signal <signal>
                 which signal
`,
    flags: ['-s,--signal=', '-b'],
  },
  {
    what: 'npm: flags below a heading as a usage has them',
    text: `Install a package

Usage:
npm install [<package-spec> ...]

Options:
[-S|--save|--no-save] [-g|--global]
[--omit <dev|optional|peer> [--omit <dev|optional|peer> ...]]
[--dry-run] [--cpu <cpu>]

aliases: add, i, in

Run "npm help install" for more info
`,
    flags: ['-S,--save', '--no-save', '-g,--global', '--omit=', '--dry-run', '--cpu='],
  },
  {
    what: 'argparse with a choice of values for an argument: these are no subcommands',
    text: `usage: run [-h] {fast,slow} file

positional arguments:
  {fast,slow}  how
  file         what

options:
  -h, --help   show this help message and exit
`,
    flags: ['-h,--help'],
  },
  {
    what: 'patterns are no flags',
    text: `Options:
  --enable-FEATURE   switch FEATURE on
  --no-OPTION        switch OPTION off
  --quiet            say nothing
`,
    flags: ['--quiet'],
  },
  {
    what: 'sentences that were wrapped before a dash are no flags',
    text: `Many of the tools that you know take something like
-x and -y, which this one
-z does not.

Options:
  -q  quiet
`,
    flags: ['-q'],
  },
  {
    what: 'nothing is made of prose',
    text: 'This program does one thing well.\nIt has no options, and - as it should be - no commands.\n',
  },
];

describe('a help text by', () => {
  for (const { what, text, subcommands = {}, flags = [] } of layouts)
    test(what, () => {
      assert.deepEqual(flagsOf(text), flags);
      assert.deepEqual(parseHelp(text).subcommands, subcommands);
    });
});

test('a flag keeps its whole description, a subcommand the first line of its own', () => {
  const { flags, subcommands } = parseHelp(`Usage: x <command>

Commands:
  one   does one thing
        and another

Options:
  -a    first
        second
`);
  assert.equal(flags[0]?.description, 'first second');
  assert.deepEqual(subcommands, { one: 'does one thing' });
});

test('a command may be called like a property of objects', () => {
  const { subcommands } = parseHelp('Commands:\n  constructor  builds\n  toString     shows\n');
  assert.deepEqual(Object.keys(subcommands), ['constructor', 'toString']);
});

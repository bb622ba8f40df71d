/** An interactive shell inside as a job of an interactive bash: however it ends, the terminal comes back. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { pathWithGuix } from '../support/guix.ts';
import { main } from '../support/main.ts';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { gitConfig, place, type Place } from './place.ts';

const slow = 60_000;
const name = 'job';

for (const runtime of ['bubblewrap', 'guix'] as const) {
  void describe(`${runtime}, a job of an interactive bash`, needs(runtime, 'tmux'), () => {
    /** A shell inside that has answered: its own group is in the foreground. */
    const opened = async (t: TestContext): Promise<{ at: Place; terminal: Terminal }> => {
      const at = await place(t);
      await at.writeConfig(`${gitConfig}up: { network: none }\n`);
      if (runtime === 'guix') at.env['PATH'] = pathWithGuix(at.env['PATH']);
      const words = Object.entries({ ...at.env, PS1: 'outer> ' }).map(([key, value]) => `${key}=${value}`);
      const terminal = new Terminal({ columns: 150, rows: 50 }, [
        ...['env', '-i', ...words, `W=${process.execPath} ${main}`],
        ...['bash', '--norc', '--noprofile', '-i'],
      ]);
      t.after(() => terminal.close());
      await terminal.shows(/^outer> *$/m, slow);
      terminal.keys(`cd '${at.workspace}'; $W up shell --runtime ${runtime} --name ${name}`, 'Enter');
      await terminal.shows(/[$#] *\n*$/, slow);
      terminal.keys('echo inside-$((6*7))', 'Enter');
      await terminal.shows(/^inside-42\n.*[$#] *\n*$/m, slow);
      return { at, terminal };
    };

    /** The prompt is back, the code is this one, nothing is stopped, and what is typed is read and echoed. */
    const back = async (terminal: Terminal, code: number): Promise<void> => {
      await terminal.shows(/outer> *\n*$/, slow);
      terminal.keys('echo rc-$?-$((6*7)); jobs; cat', 'Enter');
      await terminal.shows(/^rc-\d+-42$/m, slow);
      terminal.keys('typed', 'Enter');
      // By the terminal, and by cat.
      await terminal.shows(/^typed\ntyped$/m, slow);
      terminal.keys('C-c');
      // An interrupt throws away what is typed before the prompt.
      await terminal.shows(/\^C\n+outer> *\n*$/, slow);
      terminal.keys('stty -a | grep -o -w -e "-*icanon" -e "-*echo"; echo end-$((6*7))', 'Enter');
      const shown = await terminal.shows(/^end-42$/m, slow);
      assert.match(shown, /^icanon\necho\nend-42$/m);
      assert.match(shown, new RegExp(`^rc-${code}-42$`, 'm'));
      assert.doesNotMatch(shown, /Stopped/);
    };

    void test('`exit 3` is code 3', async (t) => {
      const { terminal } = await opened(t);
      terminal.keys('exit 3', 'Enter');
      await back(terminal, 3);
    });

    void test('Ctrl-D is code 0', async (t) => {
      const { terminal } = await opened(t);
      terminal.keys('C-d');
      await back(terminal, 0);
    });

    void test('a shell that leaves the terminal raw and is killed gives it back', async (t) => {
      const { terminal } = await opened(t);
      terminal.keys('stty raw -echo tostop; kill -KILL $$', 'Enter');
      await back(terminal, 137);
    });

    void test('`down` from elsewhere ends it', async (t) => {
      const { at, terminal } = await opened(t);
      const { code, stderr } = await at.wraptool(['down', name]);
      assert.equal(code, 0, stderr);
      await back(terminal, 143);
    });

    void test('SIGTERM to the owner ends it', async (t) => {
      const { at, terminal } = await opened(t);
      const { stdout } = await at.wraptool(['inspect', name, '--json']);
      const { supervisor } = JSON.parse(stdout) as { supervisor: { pid: number } };
      process.kill(supervisor.pid, 'SIGTERM');
      await back(terminal, 143);
    });
  });
}

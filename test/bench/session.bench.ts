/**
 * Sessions, in turn: start in both runtimes over what somebody would do without wraptool, `exec` over `docker exec` and
 * bare Node, teardown. Start: until the command's first output. What is run is what is published, built anew; other
 * words for it can be given. Run: node test/bench/session.bench.ts [ROUNDS [node src/main.ts]]
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { needs } from '../support/real.ts';
import { at, interleaved, median, say } from './measure.ts';
import { makeRig, runtimes, type Course, type RuntimeName } from './session-rig.ts';

const rounds = Number(process.argv[2] ?? 9);
const given = process.argv.slice(3);
const lacking = needs('docker', 'bubblewrap').skip;
if (lacking === undefined) await measure();
else process.stdout.write(`skipped: ${lacking}\n`);

async function measure(): Promise<void> {
  if (given.length === 0) execFileSync('script/build');
  const rig = makeRig(given.length > 0 ? given : [process.execPath, path.resolve('dist/main.js')]);
  try {
    await starts(rig);
    await execs(rig);
  } finally {
    rig.remove();
  }
}

async function starts(rig: ReturnType<typeof makeRig>): Promise<void> {
  const courses: Record<RuntimeName, Course[]> = { devcontainer: [], bubblewrap: [] };
  // Images are built and code is compiled once: that is not what is measured.
  for (const runtime of runtimes) await rig.up(runtime);
  const plain: number[] = [];
  const { node, bare } = await interleaved(
    {
      node: () => rig.course([process.execPath, '-e', 'console.log(0)']),
      bare: () => rig.course(['/bin/bash', '-c', 'echo here']),
      bubblewrap: async () => courses.bubblewrap.push(await rig.up('bubblewrap')),
      devcontainer: async () => courses.devcontainer.push(await rig.up('devcontainer')),
      plain: async () => {
        const began = performance.now();
        const id = rig.plainUp();
        await rig.course(['docker', 'exec', id, '/bin/bash', '-c', 'echo here']);
        plain.push(performance.now() - began);
        execFileSync('docker', ['rm', '-f', '-v', id], { stdio: 'ignore' });
      },
    },
    rounds,
  );
  const start = (runtime: RuntimeName): number => median(courses[runtime].map((one) => one.start));
  say({ what: 'bare `node`', value: node, unit: ' ms' });
  say({ what: '`devcontainer up` + `docker exec`', value: median(plain), unit: ' ms' });
  say({ what: '`up` in a Dev Container', value: start('devcontainer'), unit: ' ms' });
  say({
    what: '`up` in a Dev Container / `devcontainer up` + `docker exec`',
    value: start('devcontainer') / median(plain),
    must: 1.2,
  });
  say({ what: '`up` in bubblewrap', value: start('bubblewrap'), unit: ' ms' });
  say({
    what: '`up` in bubblewrap, over the bare command and bare `node`',
    value: start('bubblewrap') - bare - node,
    unit: ' ms',
    must: 150,
  });
  for (const runtime of runtimes) {
    const ends = courses[runtime].map(({ end }) => end);
    say({ what: `teardown of ${runtime}`, value: median(ends), unit: ' ms', must: 300 });
    say({ what: `teardown of ${runtime}, the slowest tenth`, value: at(ends, 0.9), unit: ' ms' });
  }
}

async function execs(rig: ReturnType<typeof makeRig>): Promise<void> {
  const sessions = [await rig.live('devcontainer'), await rig.live('bubblewrap')] as const;
  try {
    const [container, sandbox] = sessions;
    const times = await interleaved(
      {
        node: () => rig.course([process.execPath, '-e', 'console.log(0)']),
        docker: () => rig.course(['docker', 'exec', 'wraptool-live-devcontainer', 'echo', 'here']),
        container: () => rig.exec(container.name),
        sandbox: () => rig.exec(sandbox.name),
      },
      rounds * 3,
    );
    say({ what: '`docker exec`', value: times.docker, unit: ' ms' });
    say({ what: '`exec` in a Dev Container', value: times.container, unit: ' ms' });
    say({
      what: '`exec` in a Dev Container / `docker exec`',
      value: times.container / times.docker,
      must: 1.5,
    });
    say({ what: '`exec` in bubblewrap / bare `node`', value: times.sandbox / times.node });
  } finally {
    for (const session of sessions) await session.end();
  }
}

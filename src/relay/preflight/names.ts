import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { Expected, Finding } from './types.ts';

/** The start is not to wait for a slow resolver. */
const waitMs = 100;

/** Asks the resolvers for the root's name servers: any answer, a refusal too, shows that one is there. */
export async function checkNames({ network }: Expected): Promise<Finding[]> {
  if (network === 'none') return [];
  const servers = resolvers();
  if (servers.length === 0)
    return [
      {
        check: 'dns',
        level: 'warning',
        detail: 'no name server is named in /etc/resolv.conf: host names will not resolve',
        mend: 'give the host one, or set up.network to none if none is needed',
      },
    ];
  const outcomes = await Promise.all(servers.map(asked));
  if (outcomes.includes('answers')) return [];
  const refused = outcomes.every((outcome) => outcome === 'refuses');
  return [
    {
      check: 'dns',
      level: refused ? 'warning' : 'note',
      detail: refused
        ? `nothing answers at ${servers.join(', ')}: host names will not resolve`
        : `${servers.join(', ')} did not answer within ${waitMs} ms`,
      mend: 'look at the host’s own resolver (/etc/resolv.conf)',
    },
  ];
}

function resolvers(): string[] {
  try {
    const text = readFileSync('/etc/resolv.conf', 'utf8');
    return [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map((found) => found[1]!).slice(0, 3);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

// A header with one question, recursion wanted; the root; type NS; class IN.
const question = Buffer.from('77740100000100000000000000' + '00020001', 'hex');

function asked(server: string): Promise<'answers' | 'refuses' | 'silent'> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.split('%')[0]!) ? 'udp6' : 'udp4');
    const timer = setTimeout(() => done('silent'), waitMs);
    let over = false;
    const done = (outcome: 'answers' | 'refuses' | 'silent'): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      socket.close();
      resolve(outcome);
    };
    socket.on('error', () => done('refuses'));
    socket.on('message', () => done('answers'));
    socket.on('connect', () => socket.send(question));
    socket.connect(53, server);
  });
}

/** What the supervisor of a session orders its gateway: a line of JSON on stdin each, answered by a line on stdout. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { WraptoolError } from '../errors.ts';
import type { Reloaded } from './reload.ts';

/** What a supervisor may have its gateway do. */
export type Supervised = {
  /** Of the config that is served: its hash, and the tool that a probe has to call. */
  status(): { readonly config: string; readonly probe_tool: string };
  /** Takes no new changes; resolves when the calls that had begun have ended. */
  quiesce(): Promise<void>;
  resume(): void;
  /** Whether calls that change something run: there is proof from inside the runtime. */
  prove(proven: boolean): void;
  reload(): Promise<Reloaded>;
  /** Error: usage where there is no such upstream server. */
  restartServer(server: string): Promise<void>;
  /** Another gateway has the address: resolves when this one is not needed any more. */
  leave(): Promise<void>;
};

type Order = { readonly order: number; readonly do: string; readonly [key: string]: unknown };
export type OrderAnswer = { readonly order: number } & (
  | { readonly ok: true; readonly [key: string]: unknown }
  | { readonly error: { readonly code: string; readonly message: string } }
);

/** Answers orders until the input ends. `say` writes one line of JSON. */
export function takeOrders(
  input: Readable,
  supervised: Supervised,
  say: (answer: OrderAnswer) => void,
  left: () => void,
): void {
  const carry: Readonly<Record<string, (order: Order) => Promise<object>>> = {
    status: async () => supervised.status(),
    quiesce: async () => {
      await supervised.quiesce();
      return {};
    },
    resume: async () => {
      supervised.resume();
      return {};
    },
    prove: async (order) => {
      supervised.prove(order['proven'] === true);
      return {};
    },
    reload: async () => ({ result: await supervised.reload() }),
    restart_server: async (order) => {
      await supervised.restartServer(String(order['server']));
      return {};
    },
    leave: async () => {
      await supervised.leave();
      left();
      return {};
    },
  };
  createInterface({ input }).on('line', (line) => {
    const order = JSON.parse(line) as Order;
    const work = carry[order.do];
    if (work === undefined) throw new WraptoolError('internal', `an unknown order: ${line.slice(0, 200)}`);
    work(order).then(
      (facts) => say({ order: order.order, ok: true, ...facts }),
      (error: unknown) => {
        const { code, message } =
          error instanceof WraptoolError ? error : new WraptoolError('internal', String(error));
        say({ order: order.order, error: { code, message } });
      },
    );
  });
}

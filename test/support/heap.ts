/** Memory of another Node process after a garbage collection, so that what is only not collected yet does not count. */
import { once } from 'node:events';

export type Heap = { readonly usedMiB: number; readonly rssMiB: number };

/** `url`: ws://… of its inspector. */
export async function heapOf(url: string): Promise<Heap & { readonly pid: number }> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  let last = 0;
  const ask = async (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    const id = (last += 1);
    const answer = new Promise<Record<string, unknown>>((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as { id?: number; result?: Record<string, unknown> };
        if (message.id === id) resolve(message.result ?? {});
      });
    });
    socket.send(JSON.stringify({ id, method, params }));
    return await answer;
  };
  try {
    await ask('HeapProfiler.enable');
    for (let round = 0; round < 3; round += 1) await ask('HeapProfiler.collectGarbage');
    const expression =
      'JSON.stringify([process.pid, process.memoryUsage().heapUsed + process.memoryUsage().external, process.memoryUsage.rss()])';
    const { result } = await ask('Runtime.evaluate', { expression });
    const values = JSON.parse((result as { value: string }).value) as [number, number, number];
    const [pid, used, rss] = values;
    return { pid, usedMiB: used / 2 ** 20, rssMiB: rss / 2 ** 20 };
  } finally {
    socket.close();
  }
}

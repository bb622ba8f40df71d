/**
 * Connections of whoever has not shown that they know where the page is. The oldest of them makes room for the next one:
 * an agent that shares the host's network can open as many as it likes, and keeps nobody else out.
 */
import type { Socket } from 'node:net';

export type Crowd = {
  came(socket: Socket): void;
  /** It asked for something below the page's path. */
  known(socket: Socket): void;
};

export function createCrowd(most: number): Crowd {
  const strangers = new Set<Socket>();
  return {
    came(socket) {
      strangers.add(socket);
      socket.once('close', () => strangers.delete(socket));
      if (strangers.size <= most) return;
      const [oldest] = strangers;
      if (oldest === undefined) return;
      strangers.delete(oldest);
      oldest.destroy();
    },
    known: (socket) => void strangers.delete(socket),
  };
}

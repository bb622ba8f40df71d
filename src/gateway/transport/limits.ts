/** Bounds of what a hostile client can make the gateway hold. Bytes and milliseconds. */
export type Limits = {
  readonly headerBytes: number;
  readonly headers: number;
  readonly urlBytes: number;
  readonly bodyBytes: number;
  /** Bodies that are being received, over all connections. */
  readonly bodiesBytes: number;
  readonly depth: number;
  readonly batch: number;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleConnectionMs: number;
  /** A connection whose reader takes nothing of what waits for it this long is cut. */
  readonly stallMs: number;
  readonly connections: number;
  readonly sessions: number;
  readonly idleSessionMs: number;
  readonly streams: number;
  readonly streamsPerSession: number;
  /** Unread bytes on a stream after which its reader counts as gone. */
  readonly streamBacklogBytes: number;
  readonly calls: number;
  readonly keepAliveMs: number;
  /** A call that takes longer answers as a stream, where the client accepts one, so that no timer of an idle connection ends it. */
  readonly patienceMs: number;
};

export const defaultLimits: Limits = {
  headerBytes: 16 * 1024,
  headers: 100,
  urlBytes: 8 * 1024,
  bodyBytes: 4 * 1024 * 1024,
  bodiesBytes: 32 * 1024 * 1024,
  depth: 64,
  batch: 32,
  headersMs: 10_000,
  requestMs: 30_000,
  idleConnectionMs: 60_000,
  stallMs: 30_000,
  connections: 512,
  sessions: 1024,
  idleSessionMs: 30 * 60_000,
  streams: 256,
  streamsPerSession: 4,
  streamBacklogBytes: 1024 * 1024,
  calls: 256,
  keepAliveMs: 15_000,
  patienceMs: 1_000,
};

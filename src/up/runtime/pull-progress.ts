/** From the engine's many lines about each layer to one line about the whole, and not too often. */

export type PullEvent = {
  readonly status?: string;
  /** Of a layer; absent in what is said of the image. */
  readonly id?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
};

type Layer = { here: number; total: number; done: boolean };

const pauseMs = 500;
const finished = new Set(['Pull complete', 'Already exists']);

/** Tells `progress` bytes and layers; `now` in ms. */
export function pullProgress(
  name: string,
  progress: (line: string) => void,
  now: () => number = () => performance.now(),
): (event: PullEvent) => void {
  const layers = new Map<string, Layer>();
  let last = -Infinity;
  return ({ status = '', id, progressDetail }) => {
    if (id === undefined || !/^[0-9a-f]{12}$/.test(id)) return;
    const layer = layers.get(id) ?? { here: 0, total: 0, done: false };
    layers.set(id, layer);
    if (status === 'Downloading') {
      layer.here = progressDetail?.current ?? layer.here;
      layer.total = Math.max(progressDetail?.total ?? 0, layer.total, layer.here);
    } else if (status === 'Download complete' || status === 'Extracting') layer.here = layer.total;
    else if (finished.has(status)) {
      layer.here = layer.total;
      layer.done = true;
    }
    if (now() - last < pauseMs) return;
    last = now();
    progress(`pulling ${name}: ${summary([...layers.values()])}`);
  };
}

function summary(layers: readonly Layer[]): string {
  const sum = (key: 'here' | 'total'): string =>
    (layers.reduce((all, layer) => all + layer[key], 0) / 1e6).toFixed(1);
  const done = layers.filter((layer) => layer.done).length;
  return `${sum('here')} of ${sum('total')} MB, ${done} of ${layers.length} layers in place`;
}

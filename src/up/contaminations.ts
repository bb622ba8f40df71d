/**
 * Markers of gateways that were ended by hand, as their supervisor sets them. One that can't be written (a full disk) is
 * kept here, counts all the same, and is written as soon as it can be.
 */
import { setMarker } from '../restart/store.ts';
import type { Marker, Namespace } from '../restart/types.ts';
import type { Audit } from './audit.ts';

export type ContaminationsOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly namespace: Namespace;
  readonly audit: Audit;
  /** It is on record. */
  readonly written: (marker: Marker) => void;
  /** To the operator: what could not be done. */
  readonly fault: (error: unknown) => void;
};

type Pending = { readonly marker: Marker; written: boolean };

const reason = 'killed_by_signal';

export class Contaminations {
  readonly #options: ContaminationsOptions;
  readonly #pending = new Set<Pending>();
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ContaminationsOptions) {
    this.#options = options;
  }

  /** Never rejects: what can't be written counts from here. */
  async add(detail: string): Promise<void> {
    const { name } = this.#options.namespace;
    const marker = { id: '', namespace: name, at: new Date().toISOString(), reason, detail, cleared: null };
    this.#pending.add({ marker, written: false });
    await this.settle();
  }

  /** Writes what is not written yet; gives the markers that still can't be. */
  async settle(): Promise<readonly Marker[]> {
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
    return [...this.#pending].filter(({ written }) => !written).map(({ marker }) => marker);
  }

  async #write(): Promise<void> {
    const { env, namespace, audit, written, fault } = this.#options;
    for (const one of [...this.#pending])
      try {
        const { at, detail } = one.marker;
        let { marker } = one;
        if (!one.written) {
          marker = await setMarker(env, namespace, { reason, detail }, new Date(at));
          one.written = true;
          written(marker);
        }
        await audit.record({
          event: 'contamination',
          namespace: namespace.name,
          reason,
          detail,
          ...(marker.id === '' ? {} : { marker: marker.id }),
        });
        this.#pending.delete(one);
      } catch (error) {
        fault(error);
      }
  }
}

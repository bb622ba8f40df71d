/** A registry of the test's own, on an address that a private network can reach, with packages made on the spot. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';

export type Package = {
  readonly name: string;
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
};

export type Registry = {
  readonly url: string;
  /** Paths that were asked for, in order. */
  readonly asked: string[];
  readonly integrity: (name: string, version: string) => string;
  /** While true, tarballs are never answered. */
  hang: boolean;
  close(): Promise<void>;
};

type Packed = Package & { readonly tarball: Buffer; readonly integrity: string };

/** First address of this host that is not loopback, or null. */
export function outerAddress(): string | null {
  for (const addresses of Object.values(os.networkInterfaces()))
    for (const { address, family, internal } of addresses ?? [])
      if (family === 'IPv4' && !internal) return address;
  return null;
}

/** `packages` is asked once the registry's own port is known. */
export async function startRegistry(
  host: string,
  packages: (port: number) => readonly Package[],
): Promise<Registry> {
  const packed: Packed[] = [];
  const state = { hang: false };
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    const where = decodeURIComponent(request.url ?? '/').slice(1);
    asked.push(where);
    const tarball = packed.find((one) => where === `${one.name}/-/${one.version}.tgz`);
    if (tarball !== undefined) {
      if (!state.hang) response.end(tarball.tarball);
      return;
    }
    const versions = packed.filter((one) => one.name === where);
    response.statusCode = versions.length === 0 ? 404 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(versions.length === 0 ? {} : document(versions, url)));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://${host}:${port}/`;
  packed.push(...packages(port).map(pack));
  return {
    url,
    asked,
    integrity: (name, version) =>
      packed.find((one) => one.name === name && one.version === version)?.integrity ?? '',
    get hang() {
      return state.hang;
    },
    set hang(value) {
      state.hang = value;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function document(versions: readonly Packed[], url: string): unknown {
  return {
    name: versions[0]?.name,
    'dist-tags': { latest: versions.at(-1)?.version },
    versions: Object.fromEntries(
      versions.map(({ tarball: _bytes, files: _files, integrity, ...manifest }) => [
        manifest.version,
        {
          ...manifest,
          hasInstallScript: manifest.scripts !== undefined,
          dist: { tarball: `${url}${manifest.name}/-/${manifest.version}.tgz`, integrity },
        },
      ]),
    ),
  };
}

function pack(given: Package): Packed {
  const { files, ...manifest } = given;
  const folder = mkdtempSync(path.join(os.tmpdir(), 'wraptool-pack-'));
  try {
    for (const [name, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) })) {
      const file = path.join(folder, 'package', name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text, { mode: 0o755 });
    }
    execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder });
    const tarball = readFileSync(path.join(folder, 'package.tgz'));
    return {
      ...given,
      tarball,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The files that pages load: our style sheet and scripts (static/), and the libraries of the
// browser from their packages. Their address holds a hash of them all, so browsers keep them for
// ever and ask again after an update; scripts may import each other by relative addresses.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Request, ServerRoute } from '@hapi/hapi';
import { acceptedEncoding, CompressedFiles } from './compressed.ts';

const STATIC = join(import.meta.dirname, '../static');

/** Files of packages, by the path under which pages load them. */
const libraries: Readonly<Record<string, string>> = {
  'lib/combobox-nav.js': '@github/combobox-nav/dist/index.js',
  'lib/tweetnacl.js': 'tweetnacl/nacl-fast.min.js',
  'lib/uplot.js': 'uplot/dist/uPlot.esm.js',
  'lib/uplot.css': 'uplot/dist/uPlot.min.css',
  'lib/uqr.js': 'uqr/dist/index.mjs',
};

/** The files of one server. */
export interface Assets {
  /** Changes when any file does. */
  readonly version: string;
  /** Paths on the disk, by the path under which pages load them. */
  readonly files: Readonly<Record<string, string>>;
}

/** Finds the files and hashes them. */
export function findAssets(): Assets {
  const own = readdirSync(STATIC, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => [name, join(STATIC, name)] as const);
  const packaged = Object.entries(libraries).map(
    ([name, file]) => [name, packageFile(file)] as const,
  );
  const files = Object.fromEntries([...own, ...packaged].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const hash = createHash('sha256');
  for (const [name, path] of Object.entries(files)) hash.update(name).update(readFileSync(path));
  return { version: hash.digest('base64url').slice(0, 16), files };
}

/** Whether a path, as it was sent, is that of a file of this version. */
export function isCurrentAsset({ version, files }: Assets, path: string): boolean {
  const begin = `/assets/${version}/`;
  return path.startsWith(begin) && Object.hasOwn(files, path.slice(begin.length));
}

/** Serves the files; `inert` must be registered. */
export function assetRoutes({ version, files }: Assets): ServerRoute[] {
  const compressed = new CompressedFiles();
  return [
    {
      method: 'GET',
      path: '/assets/{version}/{name*}',
      options: { auth: false },
      handler: async (request, h) => {
        const { params, headers } = request;
        const name = String(params['name']);
        const path = Object.hasOwn(files, name) ? files[name] : undefined;
        if (path === undefined) return h.response({ error: 'not_found' }).code(404);
        const encoding = acceptedEncoding(headers['accept-encoding'] as string | undefined);
        const response =
          encoding === null
            ? h.file(path, { confine: false, etagMethod: 'hash' })
            : h
                .response(await compressed.read(path, encoding))
                .type(typeOf(request, name))
                .compressed(encoding)
                .etag(`${version}-${name}-${encoding}`, { weak: false, vary: false });
        response.vary('accept-encoding');
        // A page of another version may ask while gateways are updated one by one.
        const isCurrent = params['version'] === version;
        return response.header(
          'cache-control',
          isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache',
        );
      },
    },
    {
      method: 'GET',
      path: '/favicon.ico',
      options: { auth: false },
      handler: (_request, h) =>
        h
          .file(join(STATIC, 'icon.svg'), { confine: false })
          .header('cache-control', 'public, max-age=86400'),
    },
  ];
}

/** The type by the end of the name, as for files that go out as they are. */
function typeOf({ server }: Request, name: string): string {
  const { type } = server.mime.path(name) as { type?: string };
  return type ?? 'application/octet-stream';
}

/** Also files that a package does not name among its exports. */
function packageFile(path: string): string {
  const [name = ''] = /^(@[^/]+\/)?[^/]+/.exec(path) ?? [];
  const entry = fileURLToPath(import.meta.resolve(name));
  const root = entry.slice(0, entry.lastIndexOf(join('node_modules', name)));
  return join(root, 'node_modules', name, path.slice(name.length + 1));
}

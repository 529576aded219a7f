// The files that pages load: our style sheet and scripts (static/), and the libraries of the
// browser from their packages. Their address holds a hash of them all, so browsers keep them for
// ever and ask again after an update; scripts may import each other by relative addresses. What
// every page loads is joined (joined.ts).

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Request, ServerRoute } from '@hapi/hapi';
import { acceptedEncoding, CompressedFiles } from './compressed.ts';
import { joinScripts } from './joined.ts';
import { english } from './texts.ts';

const STATIC = join(import.meta.dirname, '../static');

/** Files of packages, by the path under which pages load them. */
const libraries: Readonly<Record<string, string>> = {
  'lib/combobox-nav.js': '@github/combobox-nav/dist/index.js',
  'lib/tweetnacl.js': 'tweetnacl/nacl-fast.min.js',
  'lib/uplot.js': 'uplot/dist/uPlot.esm.js',
  'lib/uplot.css': 'uplot/dist/uPlot.min.css',
  'lib/uqr.js': 'uqr/dist/index.mjs',
};

/** What pages load together: the parts of each file, in their order. */
const JOINED: Readonly<Record<string, readonly string[]>> = {
  'postern.css': ['postern.css', 'icons.css', 'lib/uplot.css'],
  'postern.js': [
    'texts.js',
    'typed-times.js',
    'postern.js',
    'typed-again.js',
    'search-key.js',
    'stream.js',
  ],
  'combobox.js': ['lib/combobox-nav.js', 'combobox.js'],
};

/** What may be the key of a text in a script. */
const TEXT_KEY = /(?<=')[a-z]+\.[a-z_]+(?=')/g;

/** The files of one server. */
export interface Assets {
  /** Changes when any file does. */
  readonly version: string;
  /** What each holds, by the path under which pages load it. */
  readonly files: Readonly<Record<string, Buffer>>;
}

/** Reads the files and hashes them. */
export function findAssets(): Assets {
  const own = readdirSync(STATIC, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => [name, join(STATIC, name)] as const);
  const packaged = Object.entries(libraries).map(
    ([name, file]) => [name, packageFile(file)] as const,
  );
  const read = Object.fromEntries(
    [...own, ...packaged].map(([name, path]) => [name, readFileSync(path)]),
  );
  read['texts.js'] = withTexts(read);
  const parts = new Set(Object.values(JOINED).flat());
  const alone = Object.entries(read).filter(([name]) => !parts.has(name));
  const joined = Object.entries(JOINED).map(([name, names]) => {
    const texts = names.map((part) => String(read[part]));
    return [
      name,
      Buffer.from(name.endsWith('.js') ? joinScripts(texts) : texts.join('\n')),
    ] as const;
  });
  const files = Object.fromEntries([...alone, ...joined].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const hash = createHash('sha256');
  for (const [name, bytes] of Object.entries(files)) hash.update(name).update(bytes);
  return { version: hash.digest('base64url').slice(0, 16), files };
}

/** The script of texts, with those that any script names. */
function withTexts(read: Readonly<Record<string, Buffer>>) {
  const scripts = Object.entries(read).filter(([name]) => /^[\w-]+\.js$/.test(name));
  const named = new Set(scripts.flatMap(([, text]) => String(text).match(TEXT_KEY) ?? []));
  const texts = Object.fromEntries(Object.entries(english).filter(([key]) => named.has(key)));
  const script = String(read['texts.js']);
  return Buffer.from(script.replace('TEXTS = {}', () => `TEXTS = ${JSON.stringify(texts)}`));
}

/** Whether a path, as it was sent, is that of a file of this version. */
export function isCurrentAsset({ version, files }: Assets, path: string): boolean {
  const begin = `/assets/${version}/`;
  return path.startsWith(begin) && Object.hasOwn(files, path.slice(begin.length));
}

/** Serves the files. */
export function assetRoutes({ version, files }: Assets): ServerRoute[] {
  const compressed = new CompressedFiles(files);
  return [
    {
      method: 'GET',
      path: '/assets/{version}/{name*}',
      options: { auth: false },
      handler: async (request, h) => {
        const { params, headers } = request;
        const name = String(params['name']);
        const bytes = Object.hasOwn(files, name) ? files[name] : undefined;
        if (bytes === undefined) return h.response({ error: 'not_found' }).code(404);
        const encoding = acceptedEncoding(headers['accept-encoding'] as string | undefined);
        const response = h
          .response(encoding === null ? bytes : await compressed.read(name, encoding))
          .type(typeOf(request, name))
          .etag(`${version}-${name}-${encoding ?? 'plain'}`, { weak: false, vary: false })
          .vary('accept-encoding');
        if (encoding !== null) response.compressed(encoding);
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
      handler: (request, h) =>
        h
          .response(files['icon.svg'])
          .type(typeOf(request, 'icon.svg'))
          .header('cache-control', 'public, max-age=86400'),
    },
  ];
}

/** The type by the end of the name. */
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

// Makes the bundle: the whole program as a few plain JavaScript files, which Node loads in less
// time than a checkout. Its files have the places of their sources, so whatever a source finds
// beside itself (a thread, the addon, views, the schema) is found there too. What is loaded when it
// is first needed stays in files of its own. Packages with an addon lie beside it, all others are
// inside.

import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative, resolve } from 'node:path';
import process from 'node:process';
import { build, type OutputFile, type Plugin } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
/** Where the bundle lies. */
export const BUNDLE = join(ROOT, 'dist/postern');
const ROOMS = ['config', 'models', 'dataplane', 'lib'];
/** What people read; a release and the package have them, too. */
export const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'LICENSE',
  'LICENSES.md',
  'docs',
];
/** What Node or a shell starts by its path: programs and threads. */
const ENTRIES = [
  'lib/start/main.ts',
  'lib/start/ready.ts',
  'lib/start/postern.js',
  'lib/installation/doctor/host-thread.ts',
  'lib/auth/saml/verifier-thread.ts',
  'models/storage/sqlite-thread.js',
  'dataplane/worker/worker.ts',
  'dataplane/io/relay-thread.ts',
];
/** What is no script and lies beside the scripts. */
const BESIDE = [
  'config/container/entrypoint',
  'config/systemd/postern.service',
  'config/systemd/postern-backup.service',
  'config/systemd/postern-backup.timer',
  'lib/postern',
  'lib/start/rootless',
  'lib/api/swagger-ui',
  'lib/web/static',
  'lib/web/views',
  'models/migrations/latest.sqlite.sql',
];
/** Where the addon lies. */
export const ADDON = 'dataplane/native/build/Release/postern.node';
/** Packages that find an addon by their own place, and the files that they run on a machine. */
const addonsFor = (architecture: string): Readonly<Record<string, readonly string[]>> => ({
  bcrypt: ['bcrypt.js', 'promises.js', `prebuilds/${process.platform}-${architecture}`],
  'node-gyp-build': ['index.js', 'node-gyp-build.js'],
});
/** Packages whose files a browser gets as they are. */
const SERVED: Readonly<Record<string, readonly string[]>> = {
  '@github/combobox-nav': ['dist'],
  tweetnacl: ['nacl-fast.js', 'nacl-fast.min.js'],
  uplot: ['dist'],
  uqr: ['dist'],
};
/** Databases of Sequelize that Postern has no use for. */
const DIALECTS = /^\.\/dialects\/(db2|mariadb|mssql|oracle|postgres|snowflake)$/;
/** Sequelize's validators of a country or a language; no column of Postern has one of them. */
const NATIONAL = new RegExp(
  `/validator/lib/is(${[
    'IBAN',
    'IdentityCard',
    'LicensePlate',
    'MobilePhone',
    'PassportNumber',
    'PostalCode',
    'TaxID',
    'VAT',
  ].join('|')})\\.js$`,
);
/** What hapi sends: other types need no entry in its table. */
const SENT_TYPES =
  /^(text|image)\/|^application\/(javascript|json|octet-stream|pdf|vnd\.tcpdump\.pcap|xml|yaml)$/;
/** What replaces them is no file. */
const NO_DIALECT = 'no-dialect';
/** Stands for the way from a file of the bundle to its root, until its depth is known. */
const UP = '@@postern-root@@';

/** The hash of all that a bundle is made of; `addon` is the file of its addon. */
export function sourcesHash(addon = join(ROOT, ADDON)): string {
  const hash = createHash('sha256').update(process.version);
  const files = [...ROOMS.flatMap(filesIn), 'tools/bundle.ts', 'package.json', 'package-lock.json'];
  for (const path of files.toSorted()) hash.update(path).update(readFileSync(join(ROOT, path)));
  if (existsSync(addon)) hash.update(ADDON).update(readFileSync(addon));
  return hash.digest('hex');
}

function filesIn(room: string): string[] {
  return readdirSync(join(ROOT, room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => /\.(ts|js|eta|css|svg|sql)$/.test(path) || BESIDE.includes(path));
}

/** Whether the bundle in `folder` is made of the sources as they are. */
export function isFresh(folder: string, hash = sourcesHash()): boolean {
  const note = join(folder, 'sources');
  return existsSync(note) && readFileSync(note, 'utf8') === hash;
}

/** A bundle for others than this checkout. */
interface BundleOptions {
  readonly version?: string;
  /** The machine that it is for, as Node calls it. */
  readonly architecture?: string;
  /** The file of the addon, which is optional: without it the engine in TypeScript serves. */
  readonly addon?: string;
}

/** Makes the bundle in `folder`, in place of an older one. */
export async function makeBundle(
  folder = BUNDLE,
  { version, architecture = process.arch, addon = join(ROOT, ADDON) }: BundleOptions = {},
): Promise<void> {
  const hash = sourcesHash(addon);
  const staging = `${folder}.${process.pid}`;
  rmSync(staging, { recursive: true, force: true });
  const packages = await writeParts(staging);
  if (existsSync(addon)) cpSync(addon, join(staging, ADDON));
  for (const [name, files] of Object.entries({ ...addonsFor(architecture), ...SERVED }))
    for (const path of ['package.json', ...licencesOf(name), ...files])
      copy(join('node_modules', name, path), join(staging, 'node_modules', name, path));
  copy('LICENSE', join(staging, 'LICENSE'));
  writeFileSync(join(staging, 'LICENSES-OF-PACKAGES'), licenceTexts(packages));
  writeFileSync(join(staging, 'package.json'), manifest(version));
  writeFileSync(join(staging, 'sources'), hash);
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
}

/** What a program is made of beside its entries, and whether packages of npm are inside of it. */
interface Parts {
  readonly entries?: readonly string[];
  readonly hasPackages?: boolean;
}

/**
 * Writes the scripts, and what lies beside them on every machine; returns the packages that are
 * inside.
 */
export async function writeParts(folder: string, parts: Parts = {}): Promise<string[]> {
  const packages = await writeScripts(folder, parts);
  for (const path of BESIDE) copy(path, join(folder, path));
  return packages;
}

/** Writes the scripts and their source maps. */
async function writeScripts(
  folder: string,
  { entries = [], hasPackages = true }: Parts,
): Promise<string[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...ENTRIES, ...entries],
    packages: hasPackages ? 'bundle' : 'external',
    // Wherever the bundle and the checkout lie: the names of chunks depend on ways between them.
    outdir: BUNDLE,
    outbase: ROOT,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    write: false,
    metafile: true,
    // Names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: 'linked',
    sourcesContent: false,
    // What Sequelize asks for by name at other databases is not there.
    external: [...Object.keys(addonsFor(process.arch)), 'pg-hstore'],
    banner: {
      js: 'import{createRequire as requireOf}from"node:module";const require=requireOf(import.meta.url);',
    },
    plugins: [ownPlaces, fewerDialects, lighterPackages],
    logLevel: 'warning',
  });
  for (const file of outputFiles) write(file, folder);
  const inside = Object.keys(metafile.inputs).map(
    (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? '',
  );
  return [...new Set(inside)].filter((name) => name !== '').toSorted();
}

function write({ path, text }: OutputFile, folder: string): void {
  const file = join(folder, relative(BUNDLE, path));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, path.endsWith('.map') ? withOwnNames(text, path) : withWaysUp(text, path));
}

/** A text with its ways to the root; the length stays, so that the source map fits. */
function withWaysUp(text: string, path: string): string {
  const up = relative(dirname(path), BUNDLE) || '.';
  const missing = ' '.repeat(UP.length - up.length);
  return text.replaceAll(new RegExp(`"([^"\\n]*)${UP}([^"\\n]*)"`, 'g'), `"$1${up}$2"${missing}`);
}

/** A source map with sources as they are called in the repository, wherever the bundle lies. */
function withOwnNames(text: string, path: string): string {
  const map = JSON.parse(text) as { sources: string[] };
  const sources = map.sources.map((source) =>
    source.startsWith(`${NO_DIALECT}:`) ? source : relative(ROOT, resolve(dirname(path), source)),
  );
  return JSON.stringify({ ...map, sources });
}

/** Each source still has the place of its own, though its code is in another file. */
const ownPlaces: Plugin = {
  name: 'own places',
  setup: (building) => {
    building.onLoad({ filter: /\/(config|models|dataplane|lib)\/.*\.ts$/ }, ({ path }) => {
      if (path.includes('/node_modules/')) return null;
      const own = `${UP}/${relative(ROOT, path).replace(/\.ts$/, '.js')}`;
      const contents = readFileSync(path, 'utf8')
        // A `require` that the bundler sees is bundled, and still runs when it is called.
        .replace('const require = createRequire(import.meta.url);', '')
        .replaceAll('import.meta.url', `new URL('${own}', import.meta.url).href`)
        .replaceAll('import.meta.dirname', `(import.meta.dirname + '/${posix.dirname(own)}')`);
      return { contents: inAscii(contents), loader: 'ts' };
    });
  },
};

const fewerDialects: Plugin = {
  name: 'fewer dialects',
  setup: (building) => {
    building.onResolve({ filter: DIALECTS }, ({ path }) => ({ path, namespace: NO_DIALECT }));
    building.onLoad({ filter: /./, namespace: NO_DIALECT }, ({ path }) => ({
      contents: `throw new Error('no ${path} is in this bundle');`,
      loader: 'js',
    }));
  },
};

const lighterPackages: Plugin = {
  name: 'lighter packages',
  setup: (building) => {
    // All times are in UTC: Sequelize asks for the zone +00:00, which is none of these.
    building.onLoad({ filter: /\/moment-timezone\/data\/packed\/latest\.json$/ }, () => ({
      contents: '{"version":"none","zones":[],"links":[],"countries":[]}',
      loader: 'json',
    }));
    building.onLoad({ filter: /\/mime-db\/db\.json$/ }, ({ path }) => ({
      contents: sentTypes(readFileSync(path, 'utf8')),
      loader: 'json',
    }));
    building.onLoad({ filter: NATIONAL }, () => ({ contents: '', loader: 'js' }));
    building.onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = inAscii(text);
      return contents === text ? null : { contents, loader: 'js' };
    });
  },
};

/**
 * A script of ASCII alone. Node reads every other script as UTF-16, and V8 keeps it so, with two
 * bytes a character; esbuild leaves other characters in regular expressions.
 */
function inAscii(script: string): string {
  return script.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The part of a table of types that a gateway needs. */
function sentTypes(table: string): string {
  const types = Object.entries(JSON.parse(table) as Record<string, unknown>);
  return JSON.stringify(Object.fromEntries(types.filter(([type]) => SENT_TYPES.test(type))));
}

function copy(from: string, to: string): void {
  cpSync(join(ROOT, from), to, { recursive: true, filter: (name) => !name.endsWith('.d.ts') });
}

function licencesOf(name: string): string[] {
  const names = readdirSync(join(ROOT, 'node_modules', name));
  return names.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
}

/** What those who wrote the packages ask of whoever passes them on. */
function licenceTexts(packages: readonly string[]): string {
  return packages
    .map((name) => {
      const folder = join(ROOT, 'node_modules', name);
      const { version, license = '' } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      ) as { version: string; license?: string };
      const texts = licencesOf(name).map((file) => readFileSync(join(folder, file), 'utf8').trim());
      return [`${name} ${version} (${license})`, ...texts].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}

function manifest(version?: string): string {
  const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
  const own = JSON.parse(text) as Record<string, unknown>;
  const { name, description, license, type, bin, engines } = own;
  const kept = { name, version: version ?? own['version'], description, license };
  return `${JSON.stringify({ ...kept, private: true, type, bin, engines }, null, 2)}\n`;
}

// The licences of what is installed with the gateway, and the page that lists them. They are read
// from package-lock.json, which has those of every platform.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { iconPackage } from './icons.ts';
import { copiedPackage } from './swagger-ui.ts';

const ROOT = join(import.meta.dirname, '..');

/**
 * A package that a gateway runs with: installed by `npm ci --omit=dev`, or copied into the
 * repository.
 */
export interface Dependency {
  name: string;
  version: string;
  license: string;
  /** Where it lies under the root; null: files of it are copies in the repository. */
  path: string | null;
}

/** What may stand in a licence of a dependency: who passes the gateway on owes notices alone. */
export const PERMISSIVE: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  // MIT without its only condition.
  'MIT-0',
  'Unlicense',
]);

/** Whether an SPDX expression leaves a permissive choice: any of `OR`, all of `AND`. */
export function isPermissive(expression: string): boolean {
  const bare = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(bare)) return false;
  return bare
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((part) => PERMISSIVE.has(part.trim())));
}

/** The dependencies of production: those of npm by name, and then what is copied. */
export function productionDependencies(): Dependency[] {
  const copies = [copiedPackage(), iconPackage()];
  return [
    ...installedDependencies(),
    ...copies.map(({ name, version, license }) => ({ name, version, license, path: null })),
  ];
}

/** What `npm ci --omit=dev` installs. */
export function installedDependencies(): (Dependency & { path: string })[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<
      string,
      { version: string; license?: string; dev?: boolean; devOptional?: boolean }
    >;
  };
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version, license = '' }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { name, version, license, path };
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The page. */
export function licensesPage(dependencies: readonly Dependency[]): string {
  const byLicense = Map.groupBy(dependencies, ({ license }) => license);
  const sections = [...byLicense]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([license, of]) => {
      const names = new Set(of.map(({ name, version }) => `${name} ${version}`));
      const list = [...names].toSorted().map((text) => `- ${text}`);
      return [`## ${license}`, '', ...list, ''].join('\n');
    });
  return [
    '# Licences of what is installed with Postern',
    '',
    'Postern itself is under Apache-2.0 ([LICENSE](LICENSE)). These are the packages that `npm ci --omit=dev` installs, on every',
    'platform, and swagger-ui-dist and lucide-static, whose files are copies (`npm run swagger-ui`, `npm run icons`), by their',
    'licence. The texts lie in the packages and beside the copies. `npm run licenses` writes this page from the lock files, and a test refuses licences that ask for more',
    'than notices.',
    '',
    ...sections,
  ].join('\n');
}

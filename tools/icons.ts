// The sprite of icons in lib/web/static: one symbol for each icon that pages show, taken out of
// lucide-static, which is a package of development alone. A page shows an icon by `<use href>`.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const NAME = 'lucide-static';
const PACKAGE = join(ROOT, 'node_modules', NAME);
const STATIC = join(ROOT, 'lib/web/static');
const SPRITE = join(STATIC, 'icons.svg');
/** A name without a dot: the console does not serve the file. */
const LICENSE = join(STATIC, 'LICENSE-of-icons');

/** The icons, by their names in Lucide. */
export const ICONS: readonly string[] = [
  'activity',
  'ban',
  'circle-user',
  'key-round',
  'laptop',
  'layout-dashboard',
  'list-checks',
  'log-out',
  'mail',
  'menu',
  'route',
  'scroll-text',
  'search',
  'server',
  'settings',
  'shield',
  'smartphone',
  'user',
  'users',
];

/** The package that the icons are of, as the lock file has it. */
export function iconPackage(): {
  name: string;
  version: string;
  license: string;
  integrity: string;
} {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; license: string; integrity: string }>;
  };
  const { version, license, integrity } = packages[`node_modules/${NAME}`]!;
  return { name: NAME, version, license, integrity };
}

/** The sprite, and the licences of its icons. */
export function sprite(): { svg: string; license: string } {
  const { version } = iconPackage();
  const symbols = ICONS.map((name) => {
    const icon = readFileSync(join(PACKAGE, 'icons', `${name}.svg`), 'utf8');
    const [, inner = ''] = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(icon) ?? [];
    const shapes = inner.replaceAll(/\s*\n\s*/g, '').replaceAll(' />', '/>');
    return `<symbol id="${name}" viewBox="0 0 24 24">${shapes}</symbol>`;
  });
  const svg = [
    `<!-- Icons of Lucide ${version}, ISC, some of Feather, MIT; npm run icons writes this file. -->`,
    '<svg xmlns="http://www.w3.org/2000/svg">',
    ...symbols,
    '</svg>',
    '',
  ];
  return { svg: svg.join('\n'), license: readFileSync(join(PACKAGE, 'LICENSE'), 'utf8') };
}

/** The sprite and the licences as they were written. */
export function writtenSprite(): { svg: string; license: string } {
  return { svg: readFileSync(SPRITE, 'utf8'), license: readFileSync(LICENSE, 'utf8') };
}

/** Writes both files. */
export function writeSprite(): void {
  const { svg, license } = sprite();
  writeFileSync(SPRITE, svg);
  writeFileSync(LICENSE, license);
}

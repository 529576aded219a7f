// The icons of the console, lib/web/static/icons.css: a class for each icon that pages show, taken
// out of lucide-static, which is a package of development alone. A class costs a page ten bytes
// where `<use href>` costs a hundred, twenty times a page.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockedPackage, lockedPackage } from './locked-package.ts';

const ROOT = join(import.meta.dirname, '..');
const NAME = 'lucide-static';
const PACKAGE = join(ROOT, 'node_modules', NAME);
const STATIC = join(ROOT, 'lib/web/static');
const SHEET = join(STATIC, 'icons.css');
/** How each icon is drawn; a page sees its shape alone. */
const FRAME =
  'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="black" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"';
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
export function iconPackage(): LockedPackage {
  return lockedPackage(join(ROOT, 'package-lock.json'), NAME);
}

/** The style sheet of the icons, and their licences. */
export function iconSheet(): { css: string; license: string } {
  const { version } = iconPackage();
  const classes = ICONS.map((name) => {
    const icon = readFileSync(join(PACKAGE, 'icons', `${name}.svg`), 'utf8');
    const [, inner = ''] = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(icon) ?? [];
    const shapes = inner.replaceAll(/\s*\n\s*/g, '').replaceAll(' />', '/>');
    const svg = `<svg ${FRAME}>${shapes}</svg>`.replaceAll('"', "'").replaceAll('#', '%23');
    return `.i-${name} {\n  --icon: url("data:image/svg+xml,${svg}");\n}\n`;
  });
  const head = `/* Icons of Lucide ${version} (ISC), some of Feather (MIT): LICENSE-of-icons. npm run icons\n   writes this file. */\n`;
  return {
    css: [head, ...classes].join('\n'),
    license: readFileSync(join(PACKAGE, 'LICENSE'), 'utf8'),
  };
}

/** Style sheet and licences as they were written. */
export function writtenSheet(): { css: string; license: string } {
  return { css: readFileSync(SHEET, 'utf8'), license: readFileSync(LICENSE, 'utf8') };
}

/** Writes both files. */
export function writeSheet(): void {
  const { css, license } = iconSheet();
  writeFileSync(SHEET, css);
  writeFileSync(LICENSE, license);
}

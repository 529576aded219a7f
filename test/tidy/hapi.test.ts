// Which files know hapi: the doors, the server's own room, and what starts the server. Below them
// nothing does but the cookies of browsers and the sessions that they carry, so the domain is given
// callers, and never a request.

import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../..');

/** The doors, the room of the server, the start, and the gateway for other projects' tests. */
const ABOVE = /^lib\/(api|web|kit\/http|start|testing)\//;

/** The only files below that know hapi; the list may only shrink. */
const BELOW = [
  'lib/auth/browser-cookies.ts',
  'lib/auth/identity/browser.ts',
  'lib/auth/sessions.ts',
  'lib/auth/sign-in.ts',
];

/** Every way to import a package of hapi, and to say more of its types. */
const HAPI = /['"`]@hapi\//;

test('below the doors only cookies and sessions know hapi', (t) => {
  const knowing = readdirSync(join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })
    .map((name) => `lib/${name}`)
    .filter((path) => path.endsWith('.ts'))
    .filter((path) => HAPI.test(readFileSync(join(ROOT, path), 'utf8')));
  t.true(knowing.filter((path) => ABOVE.test(path)).length > 50);
  t.deepEqual(knowing.filter((path) => !ABOVE.test(path)).sort(), BELOW);
});

test('imports of values and of types are seen, and other packages are not', (t) => {
  for (const line of [
    `import type { Request } from '@hapi/hapi';`,
    `import Hapi from "@hapi/hapi";`,
    `declare module '@hapi/hapi' {`,
    `type Boom = import('@hapi/boom').Boom;`,
  ])
    t.regex(line, HAPI, line);
  t.notRegex(`import Joi from 'joi';`, HAPI);
});

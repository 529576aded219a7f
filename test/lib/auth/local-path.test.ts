// Where a browser may be sent: pages of this gateway, and nothing that a browser reads otherwise.

import test from 'ava';
import { LOCAL_PATH_CHARACTERS_MAX, localPath } from '../../../lib/auth/local-path.ts';

test('a path of this gateway is taken, with its query', (t) => {
  for (const path of ['/', '/user_account', '/devices?q=a%20b&page=2', '/a/../b'])
    t.truthy(localPath(path), path);
  t.is(localPath('/devices?q=1'), '/devices?q=1');
  t.is(localPath('/a/../b'), '/b');
});

test('whatever leads elsewhere is not', (t) => {
  const elsewhere = [
    'https://evil.example/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/%0d%0aset-cookie:x\r\ny',
    'javascript:alert(1)',
    'data:text/html,x',
    'evil.example',
    '',
    '/\u00e9',
    '/a\u2028b',
    `/${'a'.repeat(LOCAL_PATH_CHARACTERS_MAX)}`,
    null,
    undefined,
    ['/', '/'],
    7,
  ];
  for (const path of elsewhere) t.is(localPath(path), null, JSON.stringify(path));
});

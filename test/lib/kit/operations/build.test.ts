// What tells the programs of a command and of a gateway apart.

import test from 'ava';
import {
  buildInWords,
  hashOf,
  hashOfLines,
  isSameBuild,
  ownBuild,
} from '../../../../lib/kit/operations/build.ts';
import { version } from '../../../../lib/kit/process/version.ts';
import { migrations } from '../../../../models/migrations/index.ts';

test('a build is the version, the last migration and a hash', (t) => {
  const own = ownBuild();
  t.is(own.version, version);
  t.is(own.schema, migrations.at(-1)!.name);
  t.is(buildInWords(own), `${version} (schema ${own.schema}, commands ${own.commands})`);
  t.true(isSameBuild(own, ownBuild()));
  for (const part of ['version', 'schema', 'commands'] as const)
    t.false(isSameBuild(own, { ...own, [part]: 'x' }), part);
});

test('another table, another operation and another path make another hash', (t) => {
  const method = 'PATCH' as const;
  const one = { updateRule: { method, path: '/v0/rules/{id}' } };
  const hashes = [
    hashOf('CREATE TABLE a', one),
    hashOf('CREATE TABLE b', one),
    hashOf('CREATE TABLE a', {}),
    hashOf('CREATE TABLE a', { updateRule: { method, path: '/v0/rule/{id}' } }),
  ];
  t.is(new Set(hashes).size, hashes.length);
});

test('the order of operations does not matter for the hash, a table and an operation do', (t) => {
  const hashes = [
    hashOfLines('CREATE TABLE a', ['get /v0/users', 'post /v0/users']),
    hashOfLines('CREATE TABLE b', ['get /v0/users', 'post /v0/users']),
    hashOfLines('CREATE TABLE a', ['get /v0/users']),
  ];
  t.is(new Set(hashes).size, 3);
  const [first = ''] = hashes;
  t.is(hashOfLines('CREATE TABLE a', ['post /v0/users', 'get /v0/users']), first);
});

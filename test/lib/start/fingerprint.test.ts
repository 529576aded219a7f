// What tells two checkouts of one version apart.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import test from 'ava';
import { fingerprint, hashOf } from '../../../lib/start/fingerprint.ts';
import { migrations } from '../../../models/migrations/index.ts';

test('it names the version, the last migration and a hash', (t) => {
  const [, version, step] =
    /^(\S+) \(schema (\S+), build [0-9a-f]{12}\)\n/.exec(fingerprint()) ?? [];
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  t.is(version, (JSON.parse(manifest) as { version: string }).version);
  t.is(step, migrations.at(-1)?.name);
  t.is(fingerprint(), fingerprint());
});

test('it names what may have faults of its own', (t) => {
  const { node, sqlite, openssl } = process.versions;
  t.is(fingerprint().split('\n')[1], `Node ${node}, SQLite ${sqlite}, OpenSSL ${openssl}`);
});

test('another table, and another operation, make another hash', (t) => {
  const hashes = [
    hashOf('CREATE TABLE a', ['get /v0/users', 'post /v0/users']),
    hashOf('CREATE TABLE b', ['get /v0/users', 'post /v0/users']),
    hashOf('CREATE TABLE a', ['get /v0/users']),
  ];
  t.is(new Set(hashes).size, 3);
  const [first = ''] = hashes;
  t.is(hashOf('CREATE TABLE a', ['post /v0/users', 'get /v0/users']), first);
});

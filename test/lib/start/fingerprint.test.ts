// What tells two checkouts of one version apart.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import test from 'ava';
import { fingerprint } from '../../../lib/start/fingerprint.ts';
import { FINGERPRINT, fingerprintText } from '../../../tools/fingerprint.ts';
import { migrations } from '../../../models/migrations/index.ts';

test('it names the version, the last migration and a hash', (t) => {
  const [, version, step] =
    /^(\S+) \(schema (\S+), build [0-9a-f]{12}\)\n/.exec(fingerprint()) ?? [];
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  t.is(version, (JSON.parse(manifest) as { version: string }).version);
  t.is(step, migrations.at(-1)?.name);
  t.is(fingerprint(), fingerprint());
});

test('its constants are those of the schema and of the API', (t) => {
  const says = 'npm run openapi writes them';
  t.is(readFileSync(FINGERPRINT, 'utf8'), fingerprintText(), says);
});

test('it names what may have bugs of its own', (t) => {
  const { node, sqlite, openssl } = process.versions;
  t.is(fingerprint().split('\n')[1], `Node ${node}, SQLite ${sqlite}, OpenSSL ${openssl}`);
});

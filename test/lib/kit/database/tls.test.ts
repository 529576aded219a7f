// The files of TLS to the database: read, or refused with the setting's name.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { databaseTls } from '../../../../lib/kit/database/tls.ts';
import { configOf } from '../../../support/api/server.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';
const server = {
  DATABASE_HOST: 'db.example.com',
  DATABASE_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
};

test('files are read as the settings say, and errors name the setting', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-tls-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'ca.crt');
  writeFileSync(file, PEM);
  t.is(databaseTls(configOf(server)), null);
  t.deepEqual(databaseTls(configOf({ ...server, DATABASE_TLS: 'required' })), {
    verifies: false,
    ca: null,
    cert: null,
    key: null,
  });
  const verify = { ...server, DATABASE_TLS: 'verify', DATABASE_TLS_CA: file };
  t.like(databaseTls(configOf(verify)), { verifies: true, ca: PEM });
  writeFileSync(file, 'nothing');
  t.throws(() => databaseTls(configOf(verify)), {
    message: /^DATABASE_TLS_CA names .* is not a PEM file/,
  });
  rmSync(file);
  t.throws(() => databaseTls(configOf(verify)), {
    message: /^DATABASE_TLS_CA names .*cannot be read/,
  });
});

// Settings of TLS to the database: what must fit together, and when a warning is due.

import test from 'ava';
import { parseConfig } from '../../config/index.ts';

const parse = (settings: Record<string, string>) =>
  parseConfig(settings, () => {
    throw new Error('no such file');
  });
const key = { DATABASE_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') };
const byName = { ...key, DATABASE_HOST: 'db.example.com' };
const byAddress = { ...key, DATABASE_URL: 'mysql://me:secret@198.51.100.7/postern' };

const refused: [settings: Record<string, string>, says: RegExp][] = [
  [{ ...byName, DATABASE_TLS: 'yes' }, /DATABASE_TLS must be one of/],
  [{ ...byName, DATABASE_TLS: 'verify', DATABASE_TLS_CERT: '/a' }, /come together/],
  [{ ...byName, DATABASE_TLS_CA: '/a' }, /DATABASE_TLS is off/],
  [{ ...byAddress, DATABASE_TLS: 'verify' }, /198\.51\.100\.7 is an address; name the server/],
];
for (const [i, [settings, says]] of refused.entries())
  test(`settings that do not fit are refused with words, row ${i + 1}`, (t) => {
    const { config, errors } = parse(settings);
    t.is(config, null);
    t.is(errors.length, 1);
    t.regex(errors[0] ?? '', says);
  });

for (const [host, isPublic] of [
  ['8.8.8.8', true],
  ['[2606:4700::1]', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['192.168.1.1', false],
  ['[fd00::1]', false],
  ['db.example.com', false],
] as const)
  test(`a database at ${host} without TLS is ${isPublic ? '' : 'not '}a warning`, (t) => {
    const settings = { ...key, DATABASE_URL: `mariadb://me:secret@${host}/postern` };
    const warns = (more: Record<string, string>): boolean => {
      const { advice, errors } = parse({ ...settings, ...more });
      t.deepEqual(errors, []);
      return advice.some((text) => text.includes('DATABASE_TLS'));
    };
    t.is(warns({}), isPublic);
    t.false(warns({ DATABASE_TLS: 'required' }));
  });

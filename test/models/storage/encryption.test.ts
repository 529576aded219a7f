// Encryption at rest: what opens, what does not, and what the refusal says.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import {
  CiphertextError,
  EncryptionKeyError,
  Keyring,
} from '../../../models/storage/encryption.ts';

const place = { table: 'devices', column: 'preshared_key', id: 'a' };

test('what was sealed opens again, also when it is empty or long', (t) => {
  const keyring = new Keyring(randomBytes(32));
  for (const text of ['', 'secret', 'žluťoučký 🐎', 'x'.repeat(1_000_000)])
    t.is(keyring.open(keyring.seal(text, place), place), text);
});

test('the same text is never sealed twice alike, and does not show', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const values = Array.from({ length: 100 }, () => keyring.seal('secret', place));
  t.is(new Set(values).size, 100);
  for (const value of values) t.false(value.includes('secret'));
});

test('a value opens only in its own table, column and record', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const value = keyring.seal('secret', place);
  keyring.openOften(value, place);
  for (const other of [
    { ...place, table: 'secrets' },
    { ...place, column: 'value' },
    { ...place, id: 'b' },
    // The parts are kept apart: text cannot move from one into the next.
    { table: 'devices\0preshared_key', column: 'a', id: '' },
  ]) {
    t.throws(() => keyring.open(value, other), { instanceOf: CiphertextError });
    t.throws(() => keyring.openOften(value, other), { instanceOf: CiphertextError });
  }
});

test('a value with any byte changed does not open', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const [format, keyId, body] = keyring.seal('secret', place).split(':') as [
    string,
    string,
    string,
  ];
  const bytes = Buffer.from(body, 'base64');
  for (let i = 0; i < bytes.length; i += 1) {
    const changed = Buffer.from(bytes);
    changed[i]! ^= 1;
    const value = `${format}:${keyId}:${changed.toString('base64')}`;
    t.throws(() => keyring.open(value, place), { instanceOf: CiphertextError });
  }
});

test('one value has one text: what a decoder would ignore does not open', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const text = 'secret';
  const value = keyring.seal(text, place);
  t.is(keyring.open(value, place), text);
  const last = value.search(/.=*$/);
  t.true(value.endsWith('='), 'the last letter has bits that mean nothing');
  const other = String.fromCharCode(value.charCodeAt(last) + 1);
  for (const bad of [
    value.slice(0, last) + other + value.slice(last + 1),
    value.replace(/=+$/, ''),
    `${value}:`,
    `${value}\n`,
    value.replace(/:(?=[^:]*$)/, ': '),
  ])
    t.throws(() => keyring.open(bad, place), { instanceOf: CiphertextError }, bad);
});

test('what is cut short, empty or of another form does not open', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const value = keyring.seal('secret', place);
  for (const bad of ['', 'secret', value.slice(0, 12), value.slice(0, 30), `2${value.slice(1)}`])
    t.throws(() => keyring.open(bad, place), { instanceOf: CiphertextError });
});

test('a value under an unknown key is refused with the setting and what to do', (t) => {
  const value = new Keyring(randomBytes(32)).seal('secret', place);
  const error = t.throws(() => new Keyring(randomBytes(32)).open(value, place), {
    instanceOf: EncryptionKeyError,
  });
  t.regex(error!.message, /DATABASE_ENCRYPTION_KEY/);
  t.regex(error!.message, /restore a backup/);
});

test('an older key still opens, the present one seals', (t) => {
  const [older, present] = [randomBytes(32), randomBytes(32)];
  const value = new Keyring(older).seal('secret', place);
  const keyring = new Keyring(present, [older]);
  t.is(keyring.open(value, place), 'secret');
  t.false(keyring.isCurrent(value));
  const resealed = keyring.seal('secret', place);
  t.true(keyring.isCurrent(resealed));
  t.is(new Keyring(present).open(resealed, place), 'secret');
});

test('a key of another length is refused with a command that makes a good one', (t) => {
  for (const length of [0, 16, 31, 33])
    t.throws(() => new Keyring(randomBytes(length)), {
      instanceOf: EncryptionKeyError,
      message: /DATABASE_ENCRYPTION_KEY must be 32 bytes.*head -c32/,
    });
});

test('as many values as there can be devices are opened once', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const values = Array.from({ length: 65_000 }, (_, i) => keyring.seal(String(i), place));
  for (const value of values) keyring.openOften(value, place);
  keyring.open = () => {
    throw new Error('it was opened again');
  };
  t.true(values.every((value, i) => keyring.openOften(value, place) === String(i)));
});

test('values that are opened often stay right when more than can be remembered are', (t) => {
  const keyring = new Keyring(randomBytes(32));
  const values = Array.from({ length: 131_200 }, (_, i) => keyring.seal(String(i), place));
  for (let round = 0; round < 2; round += 1)
    t.true(values.every((value, i) => keyring.openOften(value, place) === String(i)));
});

// The certificate that is written by hand: read back by OpenSSL, signed by its own key.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import test from 'ava';
import { makeCertificate } from '../../../../lib/auth/saml/certificate.ts';

test('a certificate is read back as it was meant', async (t) => {
  const now = new Date('2026-11-21T12:00:00Z');
  const { privateKey, certificate } = await makeCertificate(now, Uint8Array.of(0x7f, 2));
  const read = new X509Certificate(certificate);
  t.is(read.subject, 'CN=Postern');
  t.is(read.issuer, 'CN=Postern');
  t.is(read.serialNumber, '7F02');
  t.true(read.verify(read.publicKey), 'it signs itself');
  t.true(read.checkPrivateKey(createPrivateKey(privateKey)));
  t.is(read.publicKey.asymmetricKeyDetails?.modulusLength, 2048);
  t.is(new Date(read.validFrom).toISOString(), '2026-11-20T12:00:00.000Z');
  t.is(new Date(read.validTo).getUTCFullYear(), 2046);
});

test('years from 2050 on, and serials whose first bit is set, are written rightly', async (t) => {
  const now = new Date('2040-06-01T00:00:00Z');
  const { certificate } = await makeCertificate(now, Uint8Array.of(0xff, 1));
  const read = new X509Certificate(certificate);
  t.is(read.serialNumber, 'FF01');
  t.is(new Date(read.validTo).getUTCFullYear(), 2060);
  t.regex(read.validTo, /GMT$/);
});

test('two certificates have two keys', async (t) => {
  const make = () => makeCertificate(new Date(), Uint8Array.of(1));
  const [one, other] = await Promise.all([make(), make()]);
  t.not(one.privateKey, other.privateKey);
});

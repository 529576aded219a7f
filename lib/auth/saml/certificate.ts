// The key and the certificate by which SAML providers know this gateway. The certificate is signed
// by itself and names nobody: providers compare it, they do not verify it. Its few fields are
// written as DER by hand (RFC 5280, section 4.1), because node:crypto reads certificates and makes
// none.

import { createSign, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

const KEY_BITS = 2048;
const YEARS = 20;
const YEAR_MS = 365.25 * 86_400_000;
/** Clocks of providers may be behind. */
const BACKDATED_MS = 86_400_000;

/** A private key and its certificate, both PEM. */
export interface KeyAndCertificate {
  readonly privateKey: string;
  readonly certificate: string;
}

/** Makes a key and a certificate for it, good for twenty years. */
export async function makeCertificate(now: Date, serial: Uint8Array): Promise<KeyAndCertificate> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: KEY_BITS,
  });
  const name = sequence(set(sequence(COMMON_NAME, utf8('Postern'))));
  const toBeSigned = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(serial),
    SHA256_WITH_RSA,
    name,
    sequence(
      time(new Date(now.getTime() - BACKDATED_MS)),
      time(new Date(now.getTime() + YEARS * YEAR_MS)),
    ),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = createSign('sha256').update(toBeSigned).sign(privateKey);
  const certificate = sequence(toBeSigned, SHA256_WITH_RSA, bits(signature));
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: pem(certificate),
  };
}

// ---- DER (X.690) -------------------------------------------------------------------------------

/** sha256WithRSAEncryption (1.2.840.113549.1.1.11), with its NULL. */
const SHA256_WITH_RSA = hex('300d06092a864886f70d01010b0500');
/** id-at-commonName (2.5.4.3). */
const COMMON_NAME = hex('0603550403');

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

function tagged(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.of(tag), lengthOf(body.length), body]);
}

function lengthOf(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return Buffer.concat([Uint8Array.of(0x80 | bytes.length), bytes]);
}

function sequence(...parts: Uint8Array[]): Buffer {
  return tagged(0x30, ...parts);
}

function set(...parts: Uint8Array[]): Buffer {
  return tagged(0x31, ...parts);
}

function explicit(tag: number, part: Uint8Array): Buffer {
  return tagged(0xa0 | tag, part);
}

/** A positive number; a zero before it keeps its first bit from being a sign. */
function integer(bytes: Uint8Array): Buffer {
  const isSigned = ((bytes[0] ?? 0) & 0x80) !== 0;
  return tagged(0x02, isSigned ? Uint8Array.of(0) : Uint8Array.of(), bytes);
}

function bits(bytes: Uint8Array): Buffer {
  return tagged(0x03, Uint8Array.of(0), bytes);
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text, 'utf8'));
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280, section 4.1.2.5). */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

// Encryption at rest: AES-256-GCM under DATABASE_ENCRYPTION_KEY. A stored value is
// `1:<key id>:<base64 of nonce, ciphertext, tag>`; the key id tells which key opens it, so that
// keys can be rotated. Table, column and record id are authenticated with it, so that a
// ciphertext copied into another row or column does not open. Follows docs/state.md#secrets.

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { Recent } from './recent.ts';

const CIPHER = 'aes-256-gcm';
const FORMAT = '1';
const KEY_BYTES = 32;
// Random nonces of 96 bits are safe for 2^32 values under one key (NIST SP 800-38D, 8.3): a write
// of a secret every millisecond would take 49 days to get there, and rotation starts the count
// again.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * Values of one generation that `openOften` remembers, some 400 bytes each. As many as there can be
 * devices: a list that is longer than this would open every key again each time.
 */
const OPENED_MAX = 65_536;

/** Where an encrypted value lives; it opens nowhere else. */
export interface Place {
  table: string;
  column: string;
  id: string;
}

/** Thrown when the key in use is not the one that the database was made with. */
export class EncryptionKeyError extends Error {
  override name = 'EncryptionKeyError';
}

/** Thrown when a stored value does not open: it was changed, cut or copied from elsewhere. */
export class CiphertextError extends Error {
  override name = 'CiphertextError';
}

/** Whether an error says that a stored value does not open with the keys that there are. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof CiphertextError || error instanceof EncryptionKeyError;
}

/** The encryption keys of one database: the first one seals, every one opens. */
export class Keyring {
  /** Id of the key that seals. */
  readonly keyId: string;
  readonly #sealing: KeyObject;
  readonly #keys = new Map<string, KeyObject>();
  readonly #opened = new Recent<Place & { text: string }>(OPENED_MAX);

  /** Takes the present key and, while values of theirs are left, earlier ones. */
  constructor(key: Uint8Array, olderKeys: readonly Uint8Array[] = []) {
    this.keyId = keyIdOf(key);
    this.#sealing = secretKey(key);
    for (const older of olderKeys) this.#keys.set(keyIdOf(older), secretKey(older));
    this.#keys.set(this.keyId, this.#sealing);
  }

  /** Encrypts text for one place. Twice the same text gives two different values. */
  seal(text: string, place: Place): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#sealing, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(boundTo(place));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()]);
    const tag = cipher.getAuthTag();
    return `${FORMAT}:${this.keyId}:${Buffer.concat([sealed, tag]).toString('base64')}`;
  }

  /** Decrypts what `seal` made for this place; throws EncryptionKeyError or CiphertextError. */
  open(value: string, place: Place): string {
    const [format, keyId, body] = value.split(':', 3);
    if (format !== FORMAT || keyId === undefined || body === undefined)
      throw new CiphertextError(`${nameOf(place)} is not an encrypted value`);
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new EncryptionKeyError(wrongKey(place, keyId, this.keyId));
    const bytes = Buffer.from(body, 'base64');
    // The decoder ignores what it does not know, so that many texts would open as one value.
    if (value !== `${FORMAT}:${keyId}:${bytes.toString('base64')}`)
      throw new CiphertextError(`${nameOf(place)} is not an encrypted value`);
    if (bytes.length < NONCE_BYTES + TAG_BYTES)
      throw new CiphertextError(`${nameOf(place)} is cut short`);
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const opener = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    opener.setAAD(boundTo(place));
    opener.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    const text = opener.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES));
    try {
      return Buffer.concat([text, opener.final()]).toString('utf8');
    } catch (cause) {
      throw new CiphertextError(
        `${nameOf(place)} does not open: it was changed, or copied from another record`,
        { cause },
      );
    }
  }

  /**
   * Opens a short value that is read over and over, such as the keys of all devices in a list: what
   * was opened lately is remembered, with its place.
   */
  openOften(value: string, place: Place): string {
    const known = this.#opened.get(value);
    if (known?.id === place.id && known.column === place.column && known.table === place.table)
      return known.text;
    const text = this.open(value, place);
    this.#opened.set(value, { ...place, text });
    return text;
  }

  /** True when the value was sealed with the present key, not with an earlier one. */
  isCurrent(value: string): boolean {
    return sealingKeyOf(value) === this.keyId;
  }

  /** True when one of the keys has this id. */
  knows(keyId: string): boolean {
    return this.#keys.has(keyId);
  }
}

/** The id of the key that sealed a value; null for what is no sealed value. */
export function sealingKeyOf(value: unknown): string | null {
  const [format, keyId] = typeof value === 'string' ? value.split(':', 2) : [];
  return format === FORMAT && keyId !== undefined ? keyId : null;
}

function secretKey(key: Uint8Array): KeyObject {
  if (key.length !== KEY_BYTES)
    throw new EncryptionKeyError(
      `DATABASE_ENCRYPTION_KEY must be ${KEY_BYTES} bytes, it has ${key.length}; ` +
        'make one with: head -c32 /dev/urandom | base64',
    );
  return createSecretKey(key);
}

/** Eight hex digits of a hash: enough to tell keys apart, useless to find the key. */
export function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update('postern key id\0').update(key).digest('hex').slice(0, 8);
}

function boundTo(place: Place): Buffer {
  return Buffer.from(`${place.table}\0${place.column}\0${place.id}`, 'utf8');
}

function nameOf(place: Place): string {
  return `${place.table}.${place.column} of ${place.id}`;
}

function wrongKey(place: Place, wanted: string, present: string): string {
  return (
    `the encryption key is not that of this database: ${nameOf(place)} was encrypted with key ` +
    `${wanted}, the key in use is ${present}. Restore the key that the database was made with: ` +
    'the file encryption.key in DATA_DIR, or DATABASE_ENCRYPTION_KEY where that is set. Or ' +
    'restore a backup that was made with the key in use. If keys were rotated meanwhile, set ' +
    'DATABASE_ENCRYPTION_KEY_OLD to the former key (which DATA_DIR keeps in ' +
    `encryption.key.${wanted}), and rotate them again.`
  );
}

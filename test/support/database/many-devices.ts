// Many devices and rules for tests and benchmarks of long lists. Devices are written in bulk past the
// tables' classes, which would take minutes. Leaves no changes, so a gateway must read later.

import { randomBytes } from 'node:crypto';
import { type Database, newId, writeTransaction } from '../../../models/index.ts';
import { sqlTime } from '../../../models/storage/time.ts';

const ROWS_PER_STATEMENT = 1_000;
/** Devices made in one millisecond, so that ids must decide between them. */
const ROWS_PER_MS = 7;
/** The first host of 100.64.0.0/10 behind the gateway's. */
const FIRST_IPV4 = 0x64_40_00_02;

/** Keys of a device, in base64. */
interface Keys {
  readonly publicKey: string;
  readonly presharedKey: string;
}

/** What devices have besides an address; without `keysOf` keys are random. */
interface Kind {
  readonly keysOf?: (number: number) => Keys;
  /** Of each device; a long one makes a long list of few devices. It holds no quote. */
  readonly description?: string;
}

function randomKeys(): Keys {
  const bytes = randomBytes(64);
  return {
    publicKey: bytes.toString('base64', 0, 32),
    presharedKey: bytes.toString('base64', 32),
  };
}

/** The IPv4 address of the device with that number. */
export function ipv4OfDevice(number: number): string {
  const value = FIRST_IPV4 + number;
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}

/** Makes devices of one owner, each with keys and addresses of its own; returns their ids. */
export async function addManyDevices(
  database: Database,
  userId: string,
  count: number,
  kind: Kind = {},
): Promise<string[]> {
  const beganMs = Date.now() - count;
  const ids: string[] = [];
  for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
    const rows = Array.from({ length: Math.min(ROWS_PER_STATEMENT, count - first) }, (_, i) => {
      const id = newId();
      ids.push(id);
      return rowOf(database, userId, { id, number: first + i, beganMs, ...kind });
    });
    await database.sequelize.query(
      `INSERT INTO devices (id, user_id, name, description, public_key, preshared_key, ipv4, ipv4_key, ipv6,
         ipv6_key, use_default_allowed_ips, use_default_dns, use_default_endpoint, use_default_mtu,
         use_default_persistent_keepalive, inserted_at, updated_at) VALUES ${rows.join(', ')}`,
    );
  }
  return ids;
}

/** Makes global rules for a part of 10.0.0.0/8, each for another destination. */
export async function addManyRules(database: Database, count: number): Promise<void> {
  if (count === 0) return;
  await writeTransaction(database, (transaction) =>
    database.models.Rule.bulkCreate(
      Array.from({ length: count }, (_, i) => ({
        action: i % 2 === 0 ? ('accept' as const) : ('drop' as const),
        destination: `10.${(i >> 8) & 255}.${i & 255}.0/${24 + (i % 8)}`,
        ...(i % 3 === 0 ? { port_type: 'tcp' as const, port_start: 1 + i, port_end: 11 + i } : {}),
      })),
      { transaction },
    ),
  );
}

function rowOf(
  database: Database,
  userId: string,
  {
    id,
    number,
    beganMs,
    keysOf = randomKeys,
    description = 'one of many',
  }: {
    id: string;
    number: number;
    beganMs: number;
  } & Kind,
): string {
  const { publicKey, presharedKey } = keysOf(number);
  const place = { table: 'devices', column: 'preshared_key', id };
  const ipv4 = (FIRST_IPV4 + number).toString(16).padStart(8, '0');
  const suffix = (number + 2).toString(16).padStart(8, '0');
  const at = new Date(beganMs + Math.floor(number / ROWS_PER_MS));
  const time = sqlTime(database.kind, at);
  const texts = [
    id,
    userId,
    `crowd-${number}`,
    description,
    publicKey,
    database.keyring.seal(presharedKey, place),
    ipv4OfDevice(number),
    ipv4,
    `fd00::${suffix.slice(0, 4).replace(/^0+(?=.)/, '')}:${suffix.slice(4).replace(/^0+(?=.)/, '')}`,
    `fd00${'0'.repeat(20)}${suffix}`,
  ];
  // None of these texts holds a quote.
  return `(${texts.map((text) => `'${text}'`).join(', ')}, 1, 1, 1, 1, 1, '${time}', '${time}')`;
}

// Which rules match a packet that opens a flow. They are found through the index, so ten thousand
// rules cost no more than ten. Which of them decides, the filter of the data plane says.

import { parseRange } from '../tables/columns.ts';
import { Binds } from '../storage/binds.ts';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import { enclosingStarts } from './rivals.ts';

/** A packet that opens a flow, as rules see it. */
export interface RuledPacket {
  /** The owner of the device that sends it. */
  readonly userId: string;
  /** Where it goes; an address without a prefix. */
  readonly destination: string;
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  /** Of the destination; null for `icmp`. */
  readonly port: number | null;
}

/** Reads the rules of a user, and those of everyone, that match a packet. The first ones. */
export async function readMatchingRules(
  database: Database,
  { userId, destination, protocol, port }: RuledPacket,
  limit: number,
): Promise<string[]> {
  const range = parseRange(destination);
  if (range === null) throw new TypeError('The destination is no address');
  const binds = new Binds();
  const found = ['user_id IS NULL', `user_id = ${binds.one(userId)}`].flatMap((scope) =>
    (['accept', 'drop'] as const).map(
      (action) =>
        `(${scope} AND action = ${binds.one(action)} AND family = ${binds.one(range.family)}
          AND range_start IN (${binds.each(enclosingStarts(range))})
          AND range_end >= ${binds.one(range.end)})`,
    ),
  );
  const ports =
    port === null
      ? 'port_type IS NULL'
      : `(port_type IS NULL OR (port_type = ${binds.one(protocol)}
          AND port_start <= ${binds.one(port)} AND port_end >= ${binds.one(port)}))`;
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT id FROM rules WHERE (${found.join(' OR ')}) AND ${ports}
     ORDER BY inserted_at, id LIMIT ${binds.one(limit)}`,
    { ...plainSelect(), bind: binds.values },
  );
  return rows.map(({ id }) => id);
}

// How packets of devices leave a gateway, and why: the setting, what the host gives, and
// whether a version that had no sockets has used the database.

import { type Config, socketsBarred } from '../../../config/index.ts';
import type { GatewayFacts } from '../../../dataplane/index.ts';
import {
  type Database,
  executedMigrations,
  type GatewayEgress,
  pendingMigrations,
} from '../../../models/index.ts';

/** An upgrade must not open networks that were closed before. */
const OF_EARLIER =
  'a version before 1.1.0 has used this database: only WIREGUARD_TUN=sockets opens networks';

/** Why `auto` takes no sockets where the host gives no TUN; null: it takes them. */
export function whyNoSockets(config: Config, isOfEarlier: boolean): string | null {
  return isOfEarlier ? OF_EARLIER : socketsBarred(config);
}

/** Whether a version before 1.1.0 has used a database, migrated already or not. */
export async function isOfEarlier(database: Database): Promise<boolean> {
  const executed = await executedMigrations(database);
  if (executed.length === 0) return false;
  if ((await pendingMigrations(database)).length > 0) return true;
  const stored = await database.models.Configuration.findOne();
  return stored !== null && !stored.auto_sockets;
}

/** How packets of devices leave the gateway that was started. */
export function egressOf(
  { way, wayReason }: Pick<GatewayFacts, 'way' | 'wayReason'>,
  { wireguardTun }: Pick<Config, 'wireguardTun'>,
): GatewayEgress {
  const bySetting = way === 'tun' ? null : `WIREGUARD_TUN=${wireguardTun}`;
  return { way, reason: wayReason ?? bySetting };
}

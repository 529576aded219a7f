// Chooses the sign-ins that are forgotten when too many are under way. Places are shared evenly:
// first among networks (IPv6 /48, IPv4 /24), then among the scopes of each network (IPv6 /64, IPv4
// address). So an attacker who begins thousands of sign-ins loses their own, and not those of
// others.

import { Op } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** Sign-ins that may be under way. */
export const SIGN_IN_REQUESTS_MAX = 20_000;
/** How many of these one network, and one scope, may have. */
const NETWORK_SHARE = 1 / 4;
const SCOPE_SHARE = 1 / 10;

/** What one scope has under way; hashes, null for what began before they were kept. */
interface Holding {
  readonly network: string | null;
  readonly scope: string | null;
  readonly count: number;
}

/** Forgets the earliest sign-ins of those who have too many; returns how many were forgotten. */
export async function makeSignInRoom(
  database: Database,
  max: number = SIGN_IN_REQUESTS_MAX,
): Promise<number> {
  const holdings = await database.sequelize.query<Holding>(
    `SELECT network_sha256 AS network, scope_sha256 AS scope, COUNT(*) AS count
     FROM sign_in_requests GROUP BY network_sha256, scope_sha256 ORDER BY MIN(inserted_at)`,
    plainSelect(),
  );
  let forgotten = 0;
  for (const [holding, kept] of keptOf(holdings, max))
    if (kept < holding.count) forgotten += await forgetEarliest(database, holding, kept);
  return forgotten;
}

/** How many sign-ins each scope keeps. */
function keptOf(holdings: readonly Holding[], max: number): [Holding, number][] {
  const wanted = ({ count }: Holding): number => Math.min(count, Math.ceil(max * SCOPE_SHARE));
  const networkMax = Math.ceil(max * NETWORK_SHARE);
  const networks = [...Map.groupBy(holdings, ({ network }) => network).values()];
  const totals = networks.map((scopes) => {
    return Math.min(
      networkMax,
      scopes.map(wanted).reduce((sum, one) => sum + one, 0),
    );
  });
  const places = share(totals, max);
  return networks.flatMap((scopes, i) => {
    const kept = share(scopes.map(wanted), places[i] ?? 0);
    return scopes.map((scope, j): [Holding, number] => [scope, kept[j] ?? 0]);
  });
}

/** Gives places to all who want few, and shares the rest evenly; of equals the last come first. */
function share(wanted: readonly number[], places: number): number[] {
  const smallestFirst = [...wanted.entries()].toSorted(([, one], [, other]) => one - other);
  const given = wanted.map(() => 0);
  let left = places;
  for (const [i, [at, count]] of smallestFirst.entries()) {
    const got = Math.min(count, Math.floor(left / (smallestFirst.length - i)));
    given[at] = got;
    left -= got;
  }
  return given;
}

async function forgetEarliest(
  database: Database,
  { network, scope }: Holding,
  kept: number,
): Promise<number> {
  const { SignInRequest: table } = database.models;
  const where = { network_sha256: network, scope_sha256: scope };
  const [newestOfRest] = await table.findAll({
    attributes: ['inserted_at'],
    where,
    order: [['inserted_at', 'DESC']],
    offset: kept,
    limit: 1,
  });
  if (newestOfRest === undefined) return 0;
  const inserted_at = { [Op.lte]: newestOfRest.inserted_at };
  return rerunOnConflict(database, () => table.destroy({ where: { ...where, inserted_at } }));
}

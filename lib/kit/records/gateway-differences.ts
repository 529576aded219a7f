// Settings that must be equal at all gateways of one database and are not: else one gateway serves
// a device and another does not, or has other rules for it.
// docs/guides/several-gateways.md#what-each-gateway-needs

import {
  type Database,
  type Gateway,
  GATEWAY_ALIVE_MS,
  isWithin,
  readGateways,
} from '../../../models/index.ts';

/** The settings that are the same for all. */
const ALIKE: readonly string[] = [
  'WIREGUARD_PORT',
  'WIREGUARD_MTU',
  ...['IPV4', 'IPV6'].flatMap((family) =>
    ['ENABLED', 'NETWORK', 'ADDRESS'].map((what) => `WIREGUARD_${family}_${what}`),
  ),
  'DEFAULT_ACTION',
];

/** What to do about a difference. */
export const ALIKE_FIX =
  'Give all gateways of the database the same value, and restart those that had another one.';

type Compared = Pick<Gateway, 'id' | 'name' | 'settings' | 'schema_step'>;

/** A sentence for each difference between the gateways that run. */
export async function readDifferences(database: Database): Promise<string[]> {
  return differencesOf(await readGateways(database, GATEWAY_ALIVE_MS));
}

/** Of these gateways, those that run. */
export function runningOf(gateways: readonly Gateway[], nowMs: number): Gateway[] {
  return gateways.filter(({ seen_at }) => isWithin(seen_at, GATEWAY_ALIVE_MS, nowMs));
}

/** A sentence for each difference; a gateway that does not say a setting is not compared. */
export function differencesOf(gateways: readonly Compared[]): string[] {
  const said = gateways.map(({ id, name, settings, schema_step: schema }) => ({
    label: `${name} (${id})`,
    values: {
      ...(JSON.parse(settings ?? '{}') as Readonly<
        Record<string, string | number | boolean | null>
      >),
      'the schema that they know': schema ?? 'none, as 1.0.0',
    } as Readonly<Record<string, string | number | boolean | null>>,
  }));
  return [...ALIKE, 'the schema that they know'].flatMap((setting) => {
    const labels = new Map<string, string[]>();
    for (const { label, values } of said) {
      const value = values[setting];
      if (value === undefined) continue;
      const text = value === null ? 'not set' : String(value);
      labels.set(text, [...(labels.get(text) ?? []), label]);
    }
    if (labels.size < 2) return [];
    const each = [...labels].map(([text, at]) => `${text} at ${at.join(', ')}`).toSorted();
    return [`The gateways of this database differ in ${setting}: ${each.join('; ')}`];
  });
}

// Who may reach an address, and by which rule: the answer of the rules in force, for all people at
// once. Rows say which devices may connect, and the filter of the packet path judges the services,
// on the main thread. Quotas, limits, the host, and where devices are connected are not asked.
// docs/api.md#who-may-reach-an-address.

import type { Config } from '../../../config/index.ts';
import {
  type NetworkConfig,
  parseAddress,
  type ReasonName,
  type RuleConfig,
  sameBytes,
} from '../../../dataplane/index.ts';
import {
  type Database,
  type DevicePlace,
  inPages,
  readDevicePlaces,
  readGroupsOfUsers,
  readUsers,
  type RuleRow,
  type Selection,
  type UserRow,
} from '../../../models/index.ts';
import { barOf } from '../../domain/devices/bars.ts';
import { byScope, emptyTrial, type ScopedRules } from '../../domain/policy/trial.ts';
import { RuleMemory } from '../../domain/rules/rule-memory.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { isInside } from '../../kit/validation/networks.ts';
import { GroupNumbers, holdAll, holdScope } from '../../reconcile/group-numbers.ts';
import { placesOf, rulesAt } from '../../reconcile/translate.ts';
import { networksOf } from '../../reconcile/tunnel-networks.ts';
import { type Pause, pauser } from '../../kit/process/pause.ts';
import { type AskedService, type Decided, ServicesOfAddress } from './services.ts';

/** Services that are kept of one person. */
export const SERVICES_MAX = 20;
/** Rows that are read at once. */
const ROWS_AT_ONCE = 500;
/** Rules that are compiled at once: with each portion, some of the others are compiled again. */
const RULES_AT_ONCE = 100;

/** Who is asked. */
export interface WhoContext {
  readonly config: Config;
  readonly database: Database;
  /** What a question may cost, where it is not the usual. */
  readonly costMax?: number;
}

/** What is asked. */
export interface WhoAsked extends AskedService {
  /** An address in its canonical form. */
  readonly destination: string;
}

/** A person, and what becomes of their packets to the address. */
export interface PersonReaching {
  readonly user: UserRow;
  /** The devices that may connect, and have an address of the family. */
  readonly devices: readonly DevicePlace[];
  /** How many other devices the person has. */
  readonly otherDevices: number;
  /** People who are decided alike share one. */
  readonly reach: Reach;
}

/** What a person may reach at an address. */
export interface Reach {
  /** The first services that are accepted, in the order of protocols and ports. */
  readonly accepted: readonly Decided[];
  /** How many more there are. */
  readonly leftOut: number;
  /** All protocols were asked for, and one decision accepts the whole of each. */
  readonly isEverything: boolean;
  /** What is decided of the first service. */
  readonly first: Decided | null;
  /** The only reason of all decisions; null: there are several. */
  readonly onlyReason: ReasonName | null;
}

/** Everybody, and what becomes of their packets to one address. */
export interface Reaching {
  /** Nobody has the address in the tunnel network: packets to it go nowhere. */
  readonly isNobodys: boolean;
  /** The device that has the address, or a network that holds it. */
  readonly receiver: DevicePlace | null;
  /** In the order of their e-mails. */
  readonly people: readonly PersonReaching[];
}

/** Says what becomes of packets of each person to an address. */
export async function reachOf(
  context: WhoContext,
  recall: Recall,
  asked: WhoAsked,
): Promise<Reaching> {
  const { database } = context;
  const nowMs = Date.now();
  await recall.refresh();
  const configuration = await recall.configuration();
  const pause = pauser();
  const users = await readAll(pause, (some) => readUsers(database, some));
  const groups = await readGroupsOfUsers(
    database,
    users.map(({ id }) => id),
  );
  const devices = await readAll(pause, (some) => readDevicePlaces(database, some));
  const address = parseAddress(asked.destination) ?? new Uint8Array();
  const served = await servedDevices({ ...context, configuration, pause }, users, devices);
  const rows = await new RuleMemory(database, recall).all();
  const of = { asked, address, rows, nowMs, pause };
  const services = await servicesOf(context, configuration, of);
  const known = new Map<readonly Decided[], Reach>();
  const byOwner = Map.groupBy(devices, ({ user_id: id }) => id);
  const people: PersonReaching[] = [];
  for (const user of users.toSorted(byEmail)) {
    await pause();
    const all = byOwner.get(user.id) ?? [];
    const senders = all.filter(({ id }) =>
      address.length === 4 ? served.get(id)?.ipv4 : served.get(id)?.ipv6,
    );
    const decided = await services.decide(user.id, groups.get(user.id) ?? []);
    const reach = known.get(decided) ?? reachIn(decided);
    // What is decided for one person alone is not kept: there may be thousands of ranges.
    if (services.isShared(decided)) known.set(decided, reach);
    people.push({
      user,
      devices: senders,
      otherDevices: all.length - senders.length,
      reach,
    });
  }
  return { ...receiverOf(context.config, address, devices, served), people };
}

/** Whether packets to some service pass, for a person with a device that may send them. */
export function isReaching({ devices, reach }: PersonReaching): boolean {
  return devices.length > 0 && reach.accepted.length > 0;
}

function reachIn(decided: readonly Decided[]): Reach {
  const [first = null] = decided;
  const accepted: Decided[] = [];
  let count = 0;
  let isOneReason = true;
  const protocols = new Set<Decided['protocol']>();
  for (const one of decided) {
    protocols.add(one.protocol);
    isOneReason &&= one.reason === first?.reason;
    if (one.reason !== 'none') continue;
    count += 1;
    if (count <= SERVICES_MAX) accepted.push(one);
  }
  return {
    accepted,
    leftOut: count - accepted.length,
    isEverything:
      protocols.has('other') && decided.length === protocols.size && count === decided.length,
    first,
    onlyReason: isOneReason ? (first?.reason ?? null) : null,
  };
}

function byEmail({ email: a }: UserRow, { email: b }: UserRow): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// ---- devices -----------------------------------------------------------------------------------

/** Addresses of a device that may connect, and the networks behind it. */
type Served = ReturnType<typeof placesOf>;

/** Reads all rows, some at a time. */
async function readAll<Row extends NonNullable<Selection['after']>>(
  pause: Pause,
  read: (some: Selection) => Promise<Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const page of inPages(ROWS_AT_ONCE, read)) {
    rows.push(...page);
    await pause();
  }
  return rows;
}

/** The devices that may connect, by id. */
async function servedDevices(
  context: WhoContext & {
    readonly configuration: EffectiveConfiguration;
    readonly pause: Pause;
  },
  users: readonly UserRow[],
  devices: readonly DevicePlace[],
): Promise<ReadonlyMap<string, Served>> {
  const owners = new Map(users.map((user) => [user.id, user]));
  const networks = networksOf(context.config);
  const served = new Map<string, Served>();
  for (const device of devices) {
    await context.pause();
    if (barOf(context, device, owners.get(device.user_id)) !== null) continue;
    const places = placesOf(device, networks);
    if (places.ipv4 !== null || places.ipv6 !== null) served.set(device.id, places);
  }
  return served;
}

/** Who has an address. */
function receiverOf(
  config: Config,
  address: Uint8Array,
  devices: readonly DevicePlace[],
  served: ReadonlyMap<string, Served>,
): Pick<Reaching, 'isNobodys' | 'receiver'> {
  const { ipv4, ipv6 } = networksOf(config);
  const own: NetworkConfig | null = address.length === 4 ? ipv4 : ipv6;
  if (own !== null && isInside(address, own)) {
    const isGateway = sameBytes(address, own.address);
    const receiver = devices.find(({ id }) => {
      const { ipv4: v4 = null, ipv6: v6 = null } = served.get(id) ?? {};
      return [v4, v6].some((one) => sameBytes(one, address));
    });
    return { isNobodys: !isGateway && receiver === undefined, receiver: receiver ?? null };
  }
  const behind = devices.flatMap((device) =>
    (served.get(device.id)?.routes ?? [])
      .filter((route) => isInside(address, route))
      .map(({ prefixBits }) => ({ device, prefixBits })),
  );
  const [narrowest] = behind.sort((a, b) => b.prefixBits - a.prefixBits);
  return { isNobodys: false, receiver: narrowest?.device ?? null };
}

// ---- rules -------------------------------------------------------------------------------------

interface RulesAsked {
  readonly asked: WhoAsked;
  readonly address: Uint8Array;
  readonly rows: readonly RuleRow[];
  readonly nowMs: number;
  readonly pause: Pause;
}

/** What rules say of one address; a trial with only those that match it. */
async function servicesOf(
  { config, costMax }: WhoContext,
  { default_action: defaultAction }: EffectiveConfiguration,
  { asked, address, rows, nowMs, pause }: RulesAsked,
): Promise<ServicesOfAddress> {
  const trial = emptyTrial(config, defaultAction);
  const numbers = new GroupNumbers();
  const rules = {
    ofEveryone: [] as RuleConfig[],
    ofGroup: new Map<string, RuleConfig[]>(),
    ofUser: new Map<string, RuleConfig[]>(),
  };
  const portion: ScopedRules[] = [];
  for (const row of rows) {
    await pause();
    const meant = rulesAt(row, nowMs).filter(({ address: network, prefixBits }) =>
      isInside(address, { network, prefixBits }),
    );
    if (meant.length === 0) continue;
    const { user_id: userId, group_id: groupId } = row;
    if (userId !== null) listIn(rules.ofUser, userId).push(...meant);
    else if (groupId !== null) listIn(rules.ofGroup, groupId).push(...meant);
    else rules.ofEveryone.push(...meant);
    portion.push([holdScope(numbers, row), row.id, meant]);
    if (portion.length < RULES_AT_ONCE) continue;
    await pause();
    trial.amend(byScope(portion.splice(0)));
  }
  await pause();
  trial.amend(byScope(portion));
  const { destination } = asked;
  const numbersOf = (ids: readonly string[]): string => holdAll(numbers, ids);
  return new ServicesOfAddress({
    trial,
    rules,
    destination,
    asked,
    listenPort: config.wireguardPort,
    numbersOf,
    pause,
    ...(costMax === undefined ? {} : { costMax }),
  });
}

function listIn(lists: Map<string, RuleConfig[]>, id: string): RuleConfig[] {
  const list = lists.get(id) ?? [];
  lists.set(id, list);
  return list;
}

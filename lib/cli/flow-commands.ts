// `postern flows` and `postern refusals`: live flows, ended flows and refused packets of the
// gateway that runs here, once or repeatedly.

import type { ShownEndedFlow, ShownFlow, ShownRefusal } from '../observe/live/fields.ts';
import { endpointText, isUuid } from '../kit/validation/texts.ts';
import type { LocalGateway, ShownDevice } from './ask-gateway.ts';
import type { Hints } from './error-words.ts';
import type { Named } from './row.ts';
import type { Command, Following, Outcome } from './run.ts';
import { below, listed, type Listed } from './screen.ts';
import { type Column, printable, secondOf } from './text-table.ts';

const LIMIT_DEFAULT = 100;
/** The most that the API answers at once. */
const PAGE = 1_000;

const HINTS: Hints = {
  destination: 'an address or a network: 10.0.0.0/8',
  reason:
    'a reason, such as rule_drop or default_drop; docs/reference/refusal-reasons.md lists them',
};

/** A list of the API, and how its entries are shown. */
interface Listing<Entry> {
  readonly path: string;
  readonly columns: readonly (readonly [label: string, kind: Column['kind']])[];
  readonly rowOf: (entry: Entry, names: Names) => string[];
  /** Entries of one key are one. */
  readonly keyOf: (entry: Entry) => string;
  /** What has changed about an entry that is worth showing it again. */
  readonly stateOf: (entry: Entry) => number;
  readonly nothing: string;
  /** True where the newest entry comes first and none changes: what was shown is not read again. */
  readonly isLog: boolean;
}

/** Names of devices by id. */
type Names = ReadonlyMap<string, string>;

const flows: Listing<ShownFlow> = {
  path: '/v0/flows',
  columns: [
    ['from', 'place'],
    ['to', 'place'],
    ['protocol', 'fixed'],
    ['decided by', 'id'],
    ['sent', 'bytes'],
    ['received', 'bytes'],
    ['last seen', 'time'],
  ],
  rowOf: (flow, names) => [
    endOf(names, flow.source_device_id, flow.source, flow.source_port),
    endOf(names, flow.destination_device_id, flow.destination, flow.port),
    flow.protocol,
    flow.rule_id === null ? flow.decided_by : `rule ${flow.rule_id}`,
    `${flow.sent_packets} (${flow.sent_bytes} B)`,
    `${flow.reply_packets} (${flow.reply_bytes} B)`,
    secondOf(flow.last_seen_at),
  ],
  keyOf: ({ source, source_port, destination, port, protocol, opened_at }) =>
    [source, source_port, destination, port, protocol, opened_at].join(' '),
  stateOf: () => 0,
  nothing: 'no flow is alive',
  isLog: false,
};

const endedFlows: Listing<ShownEndedFlow> = {
  path: '/v0/ended_flows',
  columns: [['ended', 'time'], ...flows.columns.slice(0, -1), ['why', 'fixed']],
  rowOf: (flow, names) => [
    secondOf(flow.ended_at),
    ...flows.rowOf(flow, names).slice(0, -1),
    flow.ended_because.replaceAll('_', ' '),
  ],
  keyOf: (flow) => `${flows.keyOf(flow)} ${flow.ended_at}`,
  stateOf: () => 0,
  nothing: 'no flow has ended lately',
  isLog: true,
};

const refusals: Listing<ShownRefusal> = {
  path: '/v0/refusals',
  columns: [
    ['device', 'text'],
    ['from', 'fixed'],
    ['to', 'fixed'],
    ['protocol', 'fixed'],
    ['count', 'fixed'],
    ['last', 'time'],
    ['why', 'place'],
  ],
  rowOf: (one, names) => [
    nameOf(names, one.device_id),
    one.source ?? '',
    addressAndPort(one.destination ?? '', one.port),
    one.protocol ?? '',
    String(one.count),
    secondOf(one.last_at),
    one.rule_id === null ? one.text : `${one.text} (${one.rule_id})`,
  ],
  keyOf: ({ device_id, direction, source, destination, protocol, port, reason }) =>
    [device_id, direction, source, destination, protocol, port, reason].join(' '),
  stateOf: ({ count }) => count,
  nothing: 'nothing was refused lately',
  isLog: false,
};

/** Lists live flows, or those that have ended. */
export function listFlows(
  gateway: LocalGateway,
  command: Command,
  following: Following,
): Promise<Outcome> {
  return command.options.ended
    ? list(gateway, command, endedFlows, following)
    : list(gateway, command, flows, following);
}

/** Lists refused packets. */
export function listRefusals(
  gateway: LocalGateway,
  command: Command,
  following: Following,
): Promise<Outcome> {
  return list(gateway, command, refusals, following);
}

async function list<Entry extends object>(
  gateway: LocalGateway,
  { options }: Command,
  listing: Listing<Entry>,
  following: Following,
): Promise<Outcome> {
  const { query, missing } = await queryOf(gateway, options);
  const names = new Map<string, string>();
  const learn = options.json
    ? async () => undefined
    : (entries: readonly Entry[]) => learnNames(gateway, entries, names);
  if (options.follow) return follow(gateway, listing, query, { names, learn }, following);
  const limit = options.limit ?? LIMIT_DEFAULT;
  const { entries, hasMore } = await read(gateway, listing, query, { limit }).catch((error) => {
    throw missing ?? error;
  });
  if (entries.length === 0 && missing !== null) throw missing;
  await learn(entries);
  const shown = entries.length === 0 ? listing.nothing : tableOf(listing, entries, names);
  const more = hasMore ? ['There are more; --limit N shows so many.'] : [];
  return { ...below(shown, ...more), data: entries };
}

/** Shows present entries, then new ones, until somebody ends the command. */
async function follow<Entry extends object>(
  gateway: LocalGateway,
  listing: Listing<Entry>,
  query: URLSearchParams,
  { names, learn }: { names: Names; learn: (entries: readonly Entry[]) => Promise<void> },
  { say, pause }: Following,
): Promise<Outcome> {
  let known = new Map<string, number>();
  for (let isFirst = true; isFirst || (await pause()); isFirst = false) {
    const isKnown = (one: Entry): boolean => known.has(listing.keyOf(one));
    const limit = isFirst && listing.isLog ? PAGE : Number.POSITIVE_INFINITY;
    const until = listing.isLog ? isKnown : () => false;
    const { entries } = await read(gateway, listing, query, { limit, until });
    const fresh = entries.filter((one) => known.get(listing.keyOf(one)) !== listing.stateOf(one));
    known = new Map(entries.map((one) => [listing.keyOf(one), listing.stateOf(one)]));
    await learn(fresh);
    for (const one of fresh.toReversed())
      say({ text: listing.rowOf(one, names).map(printable).join('  '), data: one });
  }
  return { text: '', data: null, isWritten: true };
}

/** Reads so many entries at most, page by page, until there is one of a kind among them. */
async function read<Entry>(
  gateway: LocalGateway,
  { path }: Listing<Entry>,
  query: URLSearchParams,
  { limit, until = () => false }: { limit: number; until?: (entry: Entry) => boolean },
): Promise<{ entries: Entry[]; hasMore: boolean }> {
  const entries: Entry[] = [];
  let next: string | null = pathOf(path, query, Math.min(limit, PAGE));
  while (next !== null && entries.length < limit) {
    const page: { data: unknown[]; next: string | null } = await gateway.page(next, HINTS);
    const found = page.data as Entry[];
    entries.push(...found);
    next = found.some(until) ? null : page.next;
  }
  return { entries: entries.slice(0, limit), hasMore: next !== null || entries.length > limit };
}

function pathOf(path: string, query: URLSearchParams, limit: number): string {
  const all = new URLSearchParams(query);
  all.set('limit', String(limit));
  return `${path}?${all.toString()}`;
}

/**
 * The filters that were typed, as the API takes them. `missing`: a record that they name is not
 * there any more, though the gateway may remember it.
 */
async function queryOf(
  gateway: LocalGateway,
  options: Command['options'],
): Promise<{ query: URLSearchParams; missing: Error | null }> {
  const { device, user, destination, rule, reason } = options;
  const query = new URLSearchParams();
  let missing: Error | null = null;
  const idOf = async (named: string, found: Promise<Named>): Promise<string> => {
    try {
      return (await found).id;
    } catch (error) {
      if (!(options.ended && isUuid(named) && error instanceof Error)) throw error;
      missing = error;
      return named;
    }
  };
  const { finds } = gateway;
  if (device !== undefined) query.set('device_id', await idOf(device, finds.device(device)));
  if (user !== undefined) query.set('user_id', (await finds.user(user)).id);
  if (destination !== undefined) query.set('destination', destination);
  if (rule !== undefined) query.set('rule_id', await idOf(rule, finds.rule(rule)));
  if (reason !== undefined) query.set('reason', reason);
  return { query, missing };
}

/** Live flows as a table. */
export function flowTable(shown: readonly ShownFlow[], names: Names): Listed {
  return tableOf(flows, shown, names);
}

/** Refused packets as a table. */
export function refusalTable(shown: readonly ShownRefusal[], names: Names): Listed {
  return tableOf(refusals, shown, names);
}

/** Fields of entries that are ids of devices. */
const DEVICE_FIELDS = ['device_id', 'source_device_id', 'destination_device_id'] as const;
/** So many devices are asked for one by one; more of them in one list of all. */
const ASKED_SINGLY = 32;

/** The names of the devices in entries, by id. */
export async function namesIn(gateway: LocalGateway, entries: readonly object[]): Promise<Names> {
  const names = new Map<string, string>();
  await learnNames(gateway, entries, names);
  return names;
}

/** Adds the names of the devices in entries; one that was deleted is known by its id alone. */
async function learnNames(
  gateway: LocalGateway,
  entries: readonly object[],
  names: Map<string, string>,
): Promise<void> {
  const fields = entries as readonly Partial<Record<(typeof DEVICE_FIELDS)[number], unknown>>[];
  const found = new Set(fields.flatMap((one) => DEVICE_FIELDS.map((name) => one[name])));
  const unknown = [...found].filter((id): id is string => typeof id === 'string' && !names.has(id));
  for (const id of unknown) names.set(id, id);
  const devices =
    unknown.length > ASKED_SINGLY
      ? ((await gateway.ask('GET', '/v0/devices')) as { data: ShownDevice[] }).data
      : await Promise.all(unknown.map((id) => gateway.findDeviceById(id)));
  for (const device of devices) if (device !== null) names.set(device.id, device.name);
}

// ---- words ---------------------------------------------------------------------------------

function tableOf<Entry>(
  { columns, rowOf }: Listing<Entry>,
  entries: readonly Entry[],
  names: Names,
): Listed {
  return listed(
    columns,
    entries.map((one) => rowOf(one, names)),
  );
}

function nameOf(names: Names, id: string | null): string {
  return id === null ? '' : (names.get(id) ?? id);
}

function endOf(names: Names, id: string | null, address: string, port: number | null): string {
  const place = addressAndPort(address, port);
  return id === null ? place : `${nameOf(names, id)} ${place}`;
}

function addressAndPort(address: string, port: number | null): string {
  return port === null ? address : endpointText(address, port);
}

// The traffic of this moment and what was refused lately, live: lists whose rows come, go and
// change their places, the fastest flow or the latest refusal first.

import { createHash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import type { Database } from '../../../models/index.ts';
import { refusalReasons } from '../../domain/policy/reason-words.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { readCidr } from '../../kit/validation/network.ts';
import type { ShownRefusal } from '../../observe/live/fields.ts';
import { type BusyFlow, listBusiest } from '../../observe/live/flows.ts';
import type { DeviceFilter, LiveGateway } from '../../observe/live/gateway.ts';
import { listRefusals } from '../../observe/live/refusals.ts';
import { queryText } from '../kit/searched.ts';
import { agoInWords, bytesInWords } from '../kit/words.ts';
import { addressKey, type LiveCell, type LiveList, Turns } from './live-list.ts';
import { type Cell, flowRow, type Names, namesOf, refusalRow } from './live-rows.ts';
import { isUnasked } from './packet-words.ts';

/**
 * Flows of the list, and refusals of one page; there are no further pages. Flows are so few that
 * a page is sent all their values each second.
 */
export const BUSIEST_SHOWN = 30;
export const REFUSALS_SHOWN = 200;
/** Those of which they are chosen: what devices send by themselves is folded into one line. */
export const REFUSALS_READ = 1_000;
/** Of 64 each: two rows of a list are never alike. */
const KEY_CHARACTERS = 8;

/** A row of such a list. */
export interface TrafficRow {
  readonly key: string;
  readonly cells: readonly LiveCell[];
}

/** The list of the flows that carry most. */
export function liveFlows(database: Database, gateway: () => LiveGateway): LiveList {
  return rankedList(gateway, new Set([3, 4, 5, 6]), async (request) => {
    const destination = queryText(request, 'destination');
    const filter = {
      ...devicesIn(request),
      destination: readCidr(destination) === null ? null : destination,
      ruleId: idIn(request, 'rule_id'),
    };
    const flows = await listBusiest(gateway(), filter, BUSIEST_SHOWN);
    const names = await namesOf(database, flows);
    return flows.map((flow) => busyRow(flow, names));
  });
}

/** The list of what was refused lately, without what devices send by themselves. */
export function liveRefusals(database: Database, gateway: () => LiveGateway): LiveList {
  return rankedList(gateway, new Set([0, 4]), async (request) => {
    const word = queryText(request, 'reason');
    const reason = refusalReasons.find((name) => name === word) ?? null;
    const all = await listRefusals(gateway(), { ...devicesIn(request), reason }, REFUSALS_READ);
    const list = all.filter((one) => reason !== null || !isUnasked(one)).slice(0, REFUSALS_SHOWN);
    const names = await namesOf(database, list);
    return list.map((one) => refusedRow(one, names));
  });
}

/** A list of rows that an address asks for; of those that are shown, some columns change. */
function rankedList(
  gateway: () => LiveGateway,
  ranked: ReadonlySet<number>,
  read: (request: Pick<Request, 'query'>) => Promise<readonly TrafficRow[]>,
): LiveList {
  const turns = new Turns();
  return {
    isForAdministrators: true,
    check: () => void gateway(),
    ranked,
    read: async (pages, nowMs) => {
      const keys = new Map(pages.map((page) => [page, addressKey(page)]));
      const found = await turns.next(keys.values(), nowMs, (key) =>
        read({ query: Object.fromEntries(new URLSearchParams(key)) }),
      );
      if (found === null) return new Map();
      const rows = new Map(found.found.map(({ key, cells }) => [key, cells]));
      const some = pages.filter((page) => keys.get(page) === found.key);
      return new Map(some.map((page) => [page, { rows }]));
    },
  };
}

/** The row of a flow with its rate. */
export function busyRow(flow: BusyFlow, names: Names): TrafficRow {
  const { source, source_port, destination, port, protocol, opened_at, rate } = flow;
  const [from, to, by, sent, received] = flowRow(flow, names);
  return {
    key: keyOf([source, source_port, destination, port, protocol, opened_at]),
    cells: [
      ...[from, to, by].map(liveCell),
      { text: rate === 0 ? '' : `${bytesInWords(rate)}/s`, sort: rate },
      ...[sent, received].map(liveCell),
      // Both, because a page may show the other one, and not say so.
      rate === 0 ? { text: '', time: flow.last_seen_at } : { text: 'now', time: null },
    ],
  };
}

/** The row of refused packets. */
export function refusedRow(one: ShownRefusal, names: Names): TrafficRow {
  const { device_id, direction, source, destination, protocol, port, reason, first_at } = one;
  const [, ...others] = refusalRow(one, names);
  const { last_at: time } = one;
  return {
    key: keyOf([device_id, direction, source, destination, protocol, port, reason, first_at]),
    cells: [{ time, sort: Date.parse(time) }, ...others.map(liveCell)],
  };
}

/** Such a row as views show it: times say how long ago they are. */
export function shownCells({ cells }: TrafficRow, nowMs = Date.now()): object[] {
  return cells.map((cell) => {
    const time = cell?.['time'];
    const ago = typeof time === 'string' ? { ago: agoInWords(new Date(time), nowMs) } : {};
    return { ...cell, ...ago };
  });
}

function liveCell(cell: Cell | undefined): LiveCell {
  return typeof cell === 'object' ? (cell as LiveCell) : { text: cell ?? '' };
}

function keyOf(parts: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts));
  return hash.digest('base64url').slice(0, KEY_CHARACTERS);
}

function devicesIn(request: Pick<Request, 'query'>): DeviceFilter {
  return { deviceId: idIn(request, 'device_id'), userId: idIn(request, 'user_id') };
}

function idIn(request: Pick<Request, 'query'>, name: string): string | null {
  const id = queryText(request, name).toLowerCase();
  return isUuid(id) ? id : null;
}

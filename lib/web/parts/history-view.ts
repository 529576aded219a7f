// What was carried over time, for a page: the times that can be chosen, and the points of the one
// that is. The page has them as a table; static/history.js draws them.

import type { Request } from '@hapi/hapi';
import { readMinutes } from '../../observe/history/minutes.ts';
import { MINUTE_S } from '../../observe/history/recent-traffic.ts';
import { spanOf } from '../../observe/history/span.ts';
import {
  readAllPoints,
  readTraffic,
  type Traffic,
  type TrafficOf,
} from '../../observe/history/traffic.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { isOneOfSeveral } from './live-status.ts';
import { bytesInWords } from '../kit/words.ts';

/** The times that can be chosen, by their names in the address. */
const RANGES = [
  { name: '1h', label: '1 hour', seconds: 3_600 },
  { name: '24h', label: '24 hours', seconds: 86_400 },
  { name: '14d', label: '14 days', seconds: 14 * 86_400 },
  { name: '400d', label: '400 days', seconds: 400 * 86_400 },
] as const;
/** The one that is shown in minutes. */
const HOUR = RANGES[0];
/** The one that is shown first. */
const FIRST = RANGES[1];

/** What is shown of each kind, and how it is called; bytes are drawn, for a chart has one scale. */
const COLUMNS: Readonly<Record<TrafficOf, readonly (readonly [name: string, words: string])[]>> = {
  device: [
    ['tx_bytes', 'Download'],
    ['rx_bytes', 'Upload'],
  ],
  user: [
    ['tx_bytes', 'Download'],
    ['rx_bytes', 'Upload'],
  ],
  group: [
    ['tx_bytes', 'Download'],
    ['rx_bytes', 'Upload'],
  ],
  rule: [
    ['bytes', 'Bytes'],
    ['packets', 'Packets'],
  ],
  all: [
    ['tx_bytes', 'Download'],
    ['rx_bytes', 'Upload'],
    ['refused_packets', 'Packets refused'],
  ],
};

/** Behind the path of a page: what it draws, as a file for spreadsheets. */
export const TRAFFIC_FILE = '/traffic.csv';

/** The record that a history is about; `id` has no meaning for all. */
interface HistorySubject {
  readonly kind: TrafficOf;
  readonly id: string;
  /** The page on which it is, behind the path of the record; left out: the record's first. */
  readonly page?: string;
}

/** What a page shows of the time that was chosen. */
interface ChosenTraffic {
  readonly range: (typeof RANGES)[number];
  readonly traffic: Traffic;
  /** Others carried something too, which it does not have. */
  readonly isOfOneGateway: boolean;
}

/** The history of the time that a request chooses; null where none is kept. */
export async function chosenTraffic(
  web: Web,
  request: Request,
  { kind, id }: HistorySubject,
  now: Date = new Date(),
): Promise<ChosenTraffic | null> {
  const { config, database } = web.services;
  if (config.historyRetention === 'off') return null;
  const asked = queryText(request, 'range');
  const range = RANGES.find(({ name }) => name === asked) ?? FIRST;
  const { recent } = web.services;
  if (range === HOUR && recent !== undefined) {
    const to = Math.ceil(now.getTime() / (MINUTE_S * 1_000)) * MINUTE_S;
    const isOfOneGateway = await isOneOfSeveral(web.services);
    const wish = { of: kind, id, from: to - range.seconds, to, isOneOfSeveral: isOfOneGateway };
    return { range, traffic: await readMinutes(database, recent, wish), isOfOneGateway };
  }
  const span = spanOf({ from: new Date(now.getTime() - range.seconds * 1_000) }, now, {});
  if (span === null) return null;
  const traffic =
    kind === 'all'
      ? await readAllPoints(database, span)
      : await readTraffic(database, kind, id, span);
  return { range, traffic, isOfOneGateway: false };
}

/** What a page shows of a history. */
export interface HistoryView {
  /** Where it is as a file. */
  readonly file: string;
  readonly tabs: readonly { href: string; label: string; isCurrent: boolean }[];
  /** The time that is shown, behind the words *the last*. */
  readonly last: string;
  readonly isOfOneGateway: boolean;
  /** For the chart: Unix time in seconds. */
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly columns: readonly { readonly words: string; readonly isDrawn: boolean }[];
  /** Whether any bytes were carried, which a chart shows. */
  readonly isDrawn: boolean;
  /** Steps in which something was counted, the latest first. */
  readonly lines: readonly {
    readonly at: number;
    readonly time: string;
    readonly cells: readonly { readonly count: number; readonly words: string }[];
  }[];
}

/** Makes what a page shows of a history; null where none is kept. `path` is that of the record. */
export async function historyView(
  web: Web,
  request: Request,
  path: string,
  of: HistorySubject,
  now: Date = new Date(),
): Promise<HistoryView | null> {
  const chosen = await chosenTraffic(web, request, of, now);
  if (chosen === null) return null;
  const { range, traffic, isOfOneGateway } = chosen;
  const columns = COLUMNS[of.kind];
  const lines = traffic.points.map((point) => ({
    at: Date.parse(point.at) / 1_000,
    time: point.at,
    cells: columns.map(([name]) => {
      const count = Number(point[name] ?? 0);
      return { count, words: isBytes(name) ? bytesInWords(count) : String(count) };
    }),
  }));
  return {
    tabs: RANGES.map(({ name, label }) => ({
      href: `${path}${of.page ?? ''}?range=${name}#history`,
      label,
      isCurrent: name === range.name,
    })),
    file: `${path}${TRAFFIC_FILE}?range=${range.name}`,
    last: range.label.replace(/^1 /, ''),
    isOfOneGateway,
    from: Date.parse(traffic.from) / 1_000,
    to: Date.parse(traffic.to) / 1_000,
    step: traffic.step,
    columns: columns.map(([name, words]) => ({ words, isDrawn: isBytes(name) })),
    isDrawn: lines.some(({ cells }) =>
      cells.some(({ count }, i) => count > 0 && isBytes(columns[i]?.[0] ?? '')),
    ),
    lines: lines.filter(({ cells }) => cells.some(({ count }) => count > 0)).toReversed(),
  };
}

function isBytes(name: string): boolean {
  return name.endsWith('bytes');
}

// Histories as they are answered: a point for every step of a span, those without traffic too, and
// the sums of all. docs/api.md#history.

import {
  type Database,
  type HistoryKind,
  readHistory,
  readRefusals,
} from '../../../models/index.ts';
import { type AnswerTable, answerTable } from '../../kit/validation/answers.ts';
import { csvLine } from '../../kit/records/csv.ts';
import { showTime } from '../../kit/records/shown.ts';
import { type Span, startsOf } from './span.ts';

/** What is counted in each point of a history, by what it is of. */
export const COUNTS = {
  device: ['rx_bytes', 'tx_bytes'],
  user: ['rx_bytes', 'tx_bytes'],
  group: ['rx_bytes', 'tx_bytes'],
  rule: ['packets', 'bytes'],
  all: ['rx_bytes', 'tx_bytes', 'refused_packets'],
} as const;

/** The kinds of records that have a history. */
export type TrafficOf = keyof typeof COUNTS;

/** One point: when its step begins, and what was counted in it. */
export type Point = Readonly<Record<string, number | string>> & { readonly at: string };

/** A history as it is answered. */
export type Traffic = {
  readonly from: string;
  readonly to: string;
  readonly step: number;
  /** Sums of all points. */
  readonly totals: Readonly<Record<string, number>>;
  readonly points: readonly Point[];
  /** For the gateways as a whole: how many packets each reason refused. */
  readonly refusals?: readonly { readonly reason: string; readonly packets: number }[];
};

/** The fields of a history that counts these. */
export function trafficFields(names: readonly string[]) {
  const counts: AnswerTable = Object.fromEntries(
    names.map((name) => [name, { kind: 'count', description: `Sum of \`${name}\`.` } as const]),
  );
  return answerTable({
    from: { kind: 'time', description: 'The beginning of the first step.' },
    to: { kind: 'time', description: 'The end of the last step.' },
    step: { kind: 'count', description: 'Seconds of one point.' },
    totals: { kind: 'record', description: 'The sums of all points.', of: counts },
    points: {
      kind: 'list',
      description: 'All steps in their order, also those in which nothing was counted.',
      of: { at: { kind: 'time', description: 'The beginning of the step.' }, ...counts },
    },
  });
}

/** What the history of all gateways has beside that. */
export const refusalFields = answerTable({
  refusals: {
    kind: 'list',
    description: 'Packets that were refused, by reason, the most first.',
    of: {
      reason: { kind: 'text', description: 'The name of the reason, as in metrics.' },
      packets: { kind: 'count', description: 'Packets.' },
    },
  },
});

/** Reads the history of a device, of the devices of a user or a group, or of a rule. */
export async function readTraffic(
  database: Database,
  of: Exclude<TrafficOf, 'all'>,
  id: string,
  span: Span,
): Promise<Traffic> {
  const kind: HistoryKind = of === 'rule' ? 'rule' : 'device';
  const whose = { device: 'subject', user: 'userId', group: 'groupId', rule: 'subject' }[of];
  const sums = await readHistory(database, { kind, [whose]: id, ...span });
  return trafficOf(COUNTS[of], span, (at) => sums.get(at) ?? []);
}

/** Reads the points of the history of all gateways, without the sums of its refusals. */
export async function readAllPoints(
  database: Database,
  span: Span,
  reason?: string,
): Promise<Traffic> {
  const only = reason === undefined ? {} : { subject: reason };
  const [carried, refused] = await Promise.all([
    readHistory(database, { kind: 'gateway', ...span }),
    readHistory(database, { kind: 'refusal', ...only, ...span }),
  ]);
  return trafficOf(COUNTS.all, span, (at) => {
    const [rx = 0, tx = 0] = carried.get(at) ?? [];
    return [rx, tx, ...(refused.get(at) ?? [])];
  });
}

/** Reads the history of all gateways as a whole; `reason`: of refusals only those for it. */
export async function readAllTraffic(
  database: Database,
  span: Span,
  reason?: string,
): Promise<Traffic> {
  const [traffic, reasons] = await Promise.all([
    readAllPoints(database, span, reason),
    readRefusals(database, span),
  ]);
  const refusals = [...reasons]
    .filter(([name]) => reason === undefined || name === reason)
    .map(([name, packets]) => ({ reason: name, packets }))
    .toSorted((a, b) => b.packets - a.packets);
  return { ...traffic, refusals };
}

/** The points of a history as a file for spreadsheets. */
export function trafficCsv(of: TrafficOf, { points }: Traffic): string {
  const head = ['at', ...COUNTS[of]];
  const lines = points.map((point) => csvLine(head.map((name) => point[name] ?? 0)));
  return csvLine(head) + lines.join('');
}

/** Makes the points of a span of what was counted in each step. */
export function trafficOf(
  names: readonly string[],
  span: Readonly<Record<'from' | 'to' | 'step', number>>,
  countsAt: (at: number) => readonly number[],
): Traffic {
  const totals = Object.fromEntries(names.map((name) => [name, 0]));
  const points = startsOf(span).map((at): Point => {
    const counts = countsAt(at);
    const named = names.map((name, i) => [name, counts[i] ?? 0] as const);
    for (const [name, count] of named) totals[name] = (totals[name] ?? 0) + count;
    return { at: timeOf(at), ...Object.fromEntries(named) };
  });
  return { from: timeOf(span.from), to: timeOf(span.to), step: span.step, totals, points };
}

function timeOf(second: number): string {
  return showTime(new Date(second * 1_000));
}

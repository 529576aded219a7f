// `postern traffic`: what was carried over time, asked of the gateway that runs here.

import { text } from 'node:stream/consumers';
import type { Traffic } from '../observe/history/traffic.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Hints } from './error-words.ts';
import type { Command, Outcome } from './run.ts';
import { below, listed, type Listed } from './screen.ts';
import { secondOf } from './text-table.ts';

const HINTS: Hints = {
  reason:
    'a reason, such as rule_drop or default_drop; docs/reference/refusal-reasons.md lists them',
};

/** How counts are called: the two directions as the device sees them. */
const LABELS: Readonly<Record<string, string>> = {
  rx_bytes: 'uploaded',
  tx_bytes: 'downloaded',
  refused_packets: 'packets refused',
  packets: 'packets',
  bytes: 'bytes',
};

/** Shows a history as a table of the steps in which something was counted, or as a file. */
export async function showTraffic(gateway: LocalGateway, command: Command): Promise<Outcome> {
  const path = await pathOf(gateway, command);
  if (command.options.csv) {
    const file = await text(await gateway.open('GET', path, undefined, HINTS));
    // Whoever prints it ends the last line.
    return { text: file.replace(/\n$/, ''), data: null };
  }
  const { data } = (await gateway.ask('GET', path, undefined, HINTS)) as { data: Traffic };
  return { ...trafficShown(data), data };
}

async function pathOf(gateway: LocalGateway, { operand, options }: Command): Promise<string> {
  const { user, group, rule, reason, since, from = since, to, step, csv } = options;
  const named = [operand ?? undefined, user, group, rule, reason].filter(
    (word) => word !== undefined,
  );
  if (named.length > 1)
    throw new UsageError(
      'name one of these: a device, --user, --group, --rule, or --reason of all traffic',
    );
  const query = new URLSearchParams({ format: csv ? 'csv' : 'json' });
  if (from !== undefined) query.set('from', from.toISOString());
  if (to !== undefined) query.set('to', to.toISOString());
  if (step !== undefined) query.set('step', step);
  if (reason !== undefined) query.set('reason', reason);
  return `/v0/${await whoseOf(gateway, operand, options)}traffic?${query.toString()}`;
}

async function whoseOf(
  gateway: LocalGateway,
  device: string | null,
  { user, group, rule }: Command['options'],
): Promise<string> {
  if (device !== null) return `devices/${(await gateway.finds.device(device)).id}/`;
  if (user !== undefined) return `users/${(await gateway.finds.user(user)).id}/`;
  if (group !== undefined) return `groups/${(await gateway.finds.group(group)).id}/`;
  return rule === undefined ? '' : `rules/${(await gateway.finds.rule(rule)).id}/`;
}

function trafficShown({ from, to, step, totals, points, refusals = [] }: Traffic): Listed {
  const names = Object.keys(totals);
  const counted = points.filter((point) => names.some((name) => Number(point[name]) > 0));
  const span = `${secondOf(from)} to ${secondOf(to)}, steps of ${step} s`;
  if (counted.length === 0) return below(`nothing was counted, ${span}`);
  const lines = counted.map((point) => [
    secondOf(point.at),
    ...names.map((name) => String(point[name])),
  ]);
  const sums = ['all', ...names.map((name) => String(totals[name]))];
  const counts = names.map((name) => {
    const kind = name.endsWith('bytes') ? 'bytes' : 'fixed';
    return [LABELS[name] ?? name, kind] as const;
  });
  const why = [
    ['refused because of', 'fixed'],
    ['packets', 'fixed'],
  ] as const;
  const reasons = refusals.map(({ reason, packets }) => [reason, String(packets)]);
  return below(
    span,
    // A history is read by the clock, and not from now.
    listed([['since', 'fixed'], ...counts], [...lines, sums]),
    ...(refusals.length === 0 ? [] : ['', listed(why, reasons)]),
  );
}

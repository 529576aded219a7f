// Live flows and refused packets as rows of a table, with names in place of ids.

import { type Database, readRules } from '../../../models/index.ts';
import type { ShownEndedFlow, ShownFlow, ShownRefusal } from '../../observe/live/fields.ts';
import { bytesInWords } from '../kit/words.ts';
import { ownerEmails } from './owners.ts';
import {
  acceptHref,
  addressCell,
  explainHref,
  placeInWords,
  protocolInWords,
  serviceInWords,
} from './packet-words.ts';
import { ruleInWords } from './rule-words.ts';

/** Names of devices and rules, by id. */
export interface Names {
  readonly devices: ReadonlyMap<string, { readonly name: string; readonly owner: string }>;
  readonly rules: ReadonlyMap<string, string>;
}

/** Reads the names of what is shown. */
export async function namesOf(
  database: Database,
  shown: readonly (ShownFlow | ShownRefusal)[],
): Promise<Names> {
  const devices = new Set<string>();
  const rules = new Set<string>();
  for (const one of shown) {
    const ends =
      'device_id' in one ? [one.device_id] : [one.source_device_id, one.destination_device_id];
    for (const id of ends) if (id !== null) devices.add(id);
    if (one.rule_id !== null) rules.add(one.rule_id);
  }
  const [deviceRows, ruleRows] = [
    devices.size === 0
      ? []
      : await database.models.Device.findAll({
          attributes: ['id', 'name', 'user_id'],
          where: { id: [...devices] },
        }),
    rules.size === 0 ? [] : await readRules(database, { ids: [...rules] }),
  ];
  const owners = await ownerEmails(database, deviceRows);
  return {
    devices: new Map(
      deviceRows.map(({ id, name, user_id }) => [id, { name, owner: owners.get(user_id) ?? '' }]),
    ),
    rules: new Map(ruleRows.map((rule) => [rule.id, ruleInWords(rule)])),
  };
}

/** A cell of a table. */
export type Cell = string | object;

const BY = {
  rule: 'a rule',
  default: 'the default action',
  nothing: 'nothing: a host opened it',
} as const;

/** The cells of a flow. Many people have a “phone”, so each device is named with its owner. */
export function flowRow(flow: ShownFlow, names: Names): Cell[] {
  return [
    endCell(names, flow.source_device_id, placeInWords(flow.source, flow.source_port)),
    endCell(
      names,
      flow.destination_device_id,
      placeInWords(flow.destination, flow.port),
      protocolInWords(flow.protocol),
    ),
    flow.rule_id === null ? BY[flow.decided_by] : ruleCell(names, flow.rule_id),
    amountCell(flow.sent_bytes, flow.sent_packets),
    amountCell(flow.reply_bytes, flow.reply_packets),
    { time: flow.last_seen_at },
  ];
}

/** Why a flow ended, in words. */
const BECAUSE: Readonly<Record<ShownEndedFlow['ended_because'], string>> = {
  finished: 'finished',
  reset: 'reset by one side',
  idle: 'nothing came any more',
  refused: 'not let pass any more',
  device_removed: 'the device was removed or switched off',
  no_room: 'made room for another one',
  replaced: 'others have its addresses now',
  gateway_stopped: 'the gateway stopped',
};

/** The cells of a flow that has ended. */
export function endedFlowRow(flow: ShownEndedFlow, names: Names): Cell[] {
  const ended = { time: flow.ended_at, help: BECAUSE[flow.ended_because] };
  return [ended, ...flowRow(flow, names).slice(0, -1)];
}

/** The cells of refused packets that are alike. */
export function refusalRow(one: ShownRefusal, names: Names): Cell[] {
  const { source, destination } = one;
  const from = source === null ? [] : [`from ${source}`];
  return [
    { time: one.last_at },
    deviceCell(names, one.device_id, one.direction === 'to_device' ? 'for it' : ''),
    { ...addressCell(destination), help: [...serviceInWords(one), ...from].join(' ') },
    one.rule_id === null ? one.text : { ...ruleCell(names, one.rule_id), help: one.text },
    String(one.count),
    explainCell(one),
    acceptCell(one),
  ];
}

function deviceCell(names: Names, id: string | null, help: string): Cell {
  const device = id === null ? undefined : names.devices.get(id);
  if (device === undefined) return { text: 'removed', help };
  const { name, owner } = device;
  return { text: name, href: `/devices/${id}`, help: [owner, help].filter(Boolean).join(' · ') };
}

function endCell(names: Names, id: string | null, place: string, protocol = ''): Cell {
  if (id === null) return { ...addressCell(place), help: protocol };
  return deviceCell(names, id, `${place} ${protocol}`.trim());
}

function ruleCell(names: Names, id: string): { text: string; href: string } {
  return { text: names.rules.get(id) ?? 'a rule that is gone', href: `/rules/${id}` };
}

function amountCell(bytes: number, packets: number): Cell {
  return { text: bytesInWords(bytes), help: packets === 1 ? '1 packet' : `${packets} packets` };
}

function explainCell(one: ShownRefusal): Cell {
  const href = explainHref(one);
  return href === null ? '' : { text: 'Explain', href, isWhole: true };
}

function acceptCell(one: ShownRefusal): Cell {
  const { device_id: deviceId, direction } = one;
  const href = acceptHref({ ...one, deviceId, isSent: direction === 'from_device' });
  return href === null ? '' : { text: 'Accept this', href, isWhole: true };
}

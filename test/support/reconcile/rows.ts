// Rows as the reconciler reads them, made by hand, and what they mean.

import { type Amendment, type GatewayConfig, parseAddress } from '../../../dataplane/index.ts';
import { columnDefaults } from '../../../lib/kit/validation/resource.ts';
import {
  NO_SETTINGS,
  type RowChanges,
  type RowSettings,
  type TakeRows,
} from '../../../lib/reconcile/read.ts';
import type { TranslateSettings } from '../../../lib/reconcile/translate.ts';
import type { Problem } from '../../../lib/reconcile/known.ts';
import { Translation } from '../../../lib/reconcile/translation.ts';
import {
  deviceFields,
  type DeviceRow,
  type ObeyedDevice,
  type ObeyedRule,
  type ObeyedUser,
  type Revision,
  type RuleAction,
  ruleFields,
  type RuleRow,
  type UserRow,
} from '../../../models/index.ts';
import type { Rows } from './slow-translate.ts';

export const KEY = Buffer.alloc(32, 1).toString('base64');
export const OTHER_KEY = Buffer.alloc(32, 2).toString('base64');

export const settings: TranslateSettings = {
  ipv4: network('100.64.0.0', 10, '100.64.0.1'),
  ipv6: network('fd00::', 106, 'fd00::1'),
  requireSignIn: false,
  fixed: {},
  gatewayId: 'g1',
};

function network(base: string, prefixBits: number, address: string): TranslateSettings['ipv4'] {
  return { network: parseAddress(base)!, prefixBits, address: parseAddress(address)! };
}

/** A user's row. */
export function userRow(fields: Partial<UserRow> = {}): UserRow {
  return {
    id: 'u1',
    email: 'a@b.test',
    name: null,
    role: 'unprivileged',
    role_provider: null,
    disabled_at: null,
    disabled_by: null,
    disabled_provider: null,
    last_signed_in_at: null,
    last_signed_in_method: null,
    limit_down: null,
    limit_up: null,
    quota: null,
    inserted_at: new Date(0),
    updated_at: new Date(0),
    ...fields,
  };
}

/** A device's row. */
export function deviceRow(fields: Partial<DeviceRow> = {}): DeviceRow {
  return {
    ...columnDefaults(deviceFields),
    id: 'd1',
    user_id: 'u1',
    name: 'laptop',
    public_key: KEY,
    preshared_key: OTHER_KEY,
    ipv4: '100.64.0.2',
    ipv6: 'fd00::2',
    disabled_at: null,
    disabled_by: null,
    expires_at: null,
    inserted_at: new Date(0),
    updated_at: new Date(0),
    gateway_id: null,
    latest_handshake: null,
    remote_ip: null,
    remote_port: null,
    own_ip: null,
    rx_bytes: null,
    tx_bytes: null,
    ...fields,
  };
}

/** A rule's row. */
export function ruleRow(fields: Partial<RuleRow> = {}): RuleRow {
  return {
    ...columnDefaults(ruleFields),
    id: 'r1',
    destination: '10.0.0.0/8',
    family: 4,
    port_start: null,
    port_end: null,
    inserted_at: new Date(0),
    updated_at: new Date(0),
    ...fields,
  };
}

/** What a fresh configuration says, unless something else is said. */
export function rowSettings(fields: Partial<RowSettings> = {}): RowSettings {
  return { ...NO_SETTINGS, ...fields };
}

/** Rows that changed, and no others. */
export function changesOf(parts: Partial<RowChanges>): RowChanges {
  return {
    all: null,
    users: new Map(),
    groups: new Map(),
    devices: new Map(),
    rules: new Map(),
    settings: null,
    ...parts,
  };
}

/** All rows that there are: a user with a device, unless something else is said. */
export function everything(parts: {
  users?: UserRow[];
  /** By user: the groups that the user is in. */
  groups?: Record<string, string[]>;
  devices?: DeviceRow[];
  rules?: RuleRow[];
  vpnSessionDuration?: number;
  defaultClientMtu?: number | null;
  defaultAction?: RuleAction;
}): RowChanges {
  const byId = <R extends { id: string }>(list: R[]): Map<string, R> =>
    new Map(list.map((row) => [row.id, row]));
  const users = byId(parts.users ?? [userRow()]);
  return complete({
    users,
    groups: new Map([...users.keys()].map((id) => [id, parts.groups?.[id] ?? []])),
    devices: byId(parts.devices ?? [deviceRow()]),
    rules: byId(parts.rules ?? []),
    settings: rowSettings({
      vpn_session_duration: parts.vpnSessionDuration ?? 0,
      default_client_mtu: parts.defaultClientMtu ?? null,
      default_action: parts.defaultAction ?? 'accept',
    }),
  });
}

/** Rows, said to be all that there are. */
export function complete(rows: Rows): RowChanges {
  const { users, devices, rules } = rows;
  const all = {
    users: new Set(users.keys()),
    devices: new Set(devices.keys()),
    rules: new Set(rules.keys()),
  };
  return { ...rows, all };
}

/** What a reading takes, in one piece. */
export async function collect(
  read: (take: TakeRows) => Promise<Revision>,
): Promise<RowChanges & { revision: Revision }> {
  const users = new Map<string, ObeyedUser | null>();
  const groups = new Map<string, readonly string[]>();
  const devices = new Map<string, ObeyedDevice | null>();
  const rules = new Map<string, ObeyedRule | null>();
  let all: RowChanges['all'] = null;
  let settings: RowSettings | null = null;
  const revision = await read((page) => {
    for (const [id, row] of page.users) users.set(id, row);
    for (const [id, ids] of page.groups) groups.set(id, ids);
    for (const [id, row] of page.devices) devices.set(id, row);
    for (const [id, row] of page.rules) rules.set(id, row);
    all = page.all ?? all;
    settings = page.settings ?? settings;
  });
  return { revision, all, users, groups, devices, rules, settings };
}

/** What a translation says when it has taken these rows alone. */
export function translateAll(
  rows: RowChanges,
  chosen: TranslateSettings,
  nowMs: number,
): { config: GatewayConfig; problems: Problem[]; nextChangeAtMs: number } {
  const translation = new Translation(chosen);
  translation.take(rows, nowMs);
  const { problems, nextChangeAtMs } = translation;
  return { config: afterHandOver(translation), problems, nextChangeAtMs };
}

/** The configuration of a data plane once it has what is pending. */
export function afterHandOver(
  translation: Translation,
  before: GatewayConfig = { peers: new Map(), rules: new Map() },
): GatewayConfig {
  const amendment = translation.pending();
  translation.handOver();
  return amended(before, amendment);
}

/** A configuration after an amendment. */
export function amended(before: GatewayConfig, amendment: Amendment | null): GatewayConfig {
  const peers = new Map(before.peers);
  const rules = new Map(before.rules);
  for (const [key, peer] of amendment?.peers ?? [])
    if (peer === null) peers.delete(key);
    else peers.set(key, peer);
  for (const [scope, named] of amendment?.rules ?? [])
    rules.set(scope, [
      ...(rules.get(scope) ?? []).filter((rule) => !named.has(rule.id)),
      ...[...named.values()].flat(),
    ]);
  return { peers, rules };
}

// What rows mean, said the slow and obvious way: by walking all of them, each time. The twin of
// lib/reconcile/translation.ts, with which the tests compare it.

import {
  besideScope,
  GLOBAL_SCOPE,
  type GatewayConfig,
  groupOfScope,
  groupScope,
  type RuleConfig,
  stagedScope,
} from '../../../dataplane/index.ts';
import type { PeerConfig } from '../../../dataplane/index.ts';
import type { RowChanges, RowSettings } from '../../../lib/reconcile/read.ts';
import {
  defaultMtu,
  deviceEnd,
  isIn,
  vpnSessionTime,
  translateDevice,
  translateRule,
  type TranslateSettings,
} from '../../../lib/reconcile/translate.ts';
import type { Problem } from '../../../lib/reconcile/known.ts';
import type { ObeyedDevice, RuleAction, ObeyedRule, ObeyedUser } from '../../../models/index.ts';

/** All rows, by id. */
export interface Rows {
  readonly users: ReadonlyMap<string, ObeyedUser>;
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly devices: ReadonlyMap<string, ObeyedDevice>;
  readonly rules: ReadonlyMap<string, ObeyedRule>;
  readonly settings: RowSettings;
}

/** All rows, of an answer that holds all. */
export function rowsOf(read: RowChanges): Rows {
  if (read.all === null) throw new Error('these are not all rows');
  return read as unknown as Rows;
}

/** Says what the rows mean at `nowMs`. */
export function slowTranslate(
  rows: Rows,
  settings: TranslateSettings,
  nowMs: number,
): { config: GatewayConfig; defaultAction: RuleAction; problems: Problem[] } {
  const problems: Problem[] = [];
  const said = { ...rows.settings, ...settings.fixed };
  const duration = said.vpn_session_duration;
  const peers = new Map<string, PeerConfig>();
  const groupIds: string[] = [];
  const numberOf = (id: string): number =>
    groupIds.includes(id) ? groupIds.indexOf(id) : groupIds.push(id) - 1;
  for (const device of rows.devices.values()) {
    const owner = rows.users.get(device.user_id);
    if (owner === undefined) continue;
    if (!isIn(vpnSessionTime(owner, duration, settings.requireSignIn), nowMs)) continue;
    if (deviceEnd(device) <= nowMs) continue;
    const peer = translateDevice(device, settings);
    const numbers = (rows.groups.get(owner.id) ?? []).map((id) => numberOf(id));
    const groups = String.fromCharCode(...numbers.toSorted((a, b) => a - b));
    if ('message' in peer)
      problems.push({ table: 'devices', id: device.id, message: peer.message });
    else {
      const limits = {
        ...slowLimit('limitDown', [device.limit_down, owner.limit_down, said.default_limit_down]),
        ...slowLimit('limitUp', [device.limit_up, owner.limit_up, said.default_limit_up]),
      };
      const mtu = device.use_default_mtu ? { mtu: defaultMtu(said) } : {};
      peers.set(peer.publicKey, { ...peer, ...mtu, ...limits, groups });
    }
  }
  const rules = new Map<string, RuleConfig[]>();
  for (const row of rows.rules.values()) {
    if (!row.enabled) continue;
    const translated = translateRule(row);
    if (translated.message !== null)
      problems.push({ table: 'rules', id: row.id, message: translated.message });
    if (row.starts_at !== null && nowMs < row.starts_at.getTime()) continue;
    if (row.ends_at !== null && nowMs >= row.ends_at.getTime()) continue;
    const ofGroup = row.group_id === null ? GLOBAL_SCOPE : groupScope(numberOf(row.group_id));
    const place = row.user_id ?? ofGroup;
    const scope = row.enforced ? place : stagedScope(place);
    rules.set(scope, [...(rules.get(scope) ?? []), ...translated.rules]);
  }
  return { config: { peers, rules }, defaultAction: said.default_action, problems };
}

/** The first limit that is said, if any is. */
function slowLimit(
  name: 'limitDown' | 'limitUp',
  said: readonly (number | null)[],
): Pick<PeerConfig, 'limitDown' | 'limitUp'> {
  for (const limit of said) if (limit !== null) return { [name]: limit };
  return {};
}

/**
 * A configuration in which groups have no numbers, which each side gives as it likes: each has the
 * ids of its rules as its name, and the scope of a peer names the groups.
 */
export function withoutNumbers({ peers, rules }: GatewayConfig): GatewayConfig {
  const nameOf = (scope: string): string => {
    if (groupOfScope(scope) === null) return scope;
    return [
      besideScope(scope) === null ? 'enforced' : 'staged',
      'group of',
      ...(rules.get(scope) ?? []).map(({ id }) => id).sort(),
    ].join(' ');
  };
  return {
    peers: new Map(
      [...peers].map(([key, { groups = '', ...peer }]) => {
        const names = groups.split('').map((unit) => nameOf(groupScope(unit.charCodeAt(0))));
        return [key, { ...peer, scope: [peer.scope, ...names.toSorted()].join(' ') }];
      }),
    ),
    rules: new Map([...rules].map(([scope, ofScope]) => [nameOf(scope), ofScope])),
  };
}

// What rows mean after any changes in any order, compared with the slow way to say it.

import test from 'ava';
import fc from 'fast-check';
import type { GatewayConfig } from '../../../dataplane/index.ts';
import { isEmpty, ConfigInForce } from '../../../dataplane/diff.ts';
import type { RowSettings } from '../../../lib/reconcile/read.ts';
import type { TranslateSettings } from '../../../lib/reconcile/translate.ts';
import { Translation } from '../../../lib/reconcile/translation.ts';
import type { DeviceRow, RuleAction, RuleRow, UserRow } from '../../../models/index.ts';
import {
  amended,
  changesOf,
  complete,
  deviceRow,
  OTHER_KEY,
  ruleRow,
  rowSettings,
  settings,
  afterHandOver,
  userRow,
} from '../../support/reconcile/rows.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import {
  type Rows,
  slowTranslate,
  withoutNumbers,
} from '../../support/reconcile/slow-translate.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20, 12);

type Step =
  | { table: 'users'; id: string; row: UserRow | null }
  | { table: 'devices'; id: string; row: DeviceRow | null }
  | { table: 'rules'; id: string; row: RuleRow | null }
  | { user: string; groups: string[] }
  | { duration: number }
  | { mtu: number | null }
  | { limit: number | null }
  | { action: RuleAction }
  | { passMs: number }
  | { readAll: true }
  | { tell: true }
  | { due: 'acknowledged' | 'lost' };

const userIds = fc.constantFrom('u1', 'u2', 'u3');
const groupIds = fc.constantFrom('g1', 'g2', 'g3');
const orGone = <T>(row: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(row, { freq: 3 });

const steps: fc.Arbitrary<Step> = fc.oneof(
  userIds.chain((id) =>
    fc.record({
      table: fc.constant('users' as const),
      id: fc.constant(id),
      row: orGone(
        fc.record({
          disabled_at: fc.constantFrom(null, null, new Date(NOW)),
          last_signed_in_at: fc.constantFrom(null, new Date(NOW), new Date(NOW - DAY)),
          limit_down: fc.constantFrom(null, 64_000, 1_000_000),
        }),
      ).map((fields) => (fields === null ? null : userRow({ id, ...fields }))),
    }),
  ),
  fc.constantFrom('d1', 'd2', 'd3', 'd4').chain((id) =>
    fc.record({
      table: fc.constant('devices' as const),
      id: fc.constant(id),
      row: orGone(
        fc.record({
          user_id: userIds,
          // Of its own: no two devices have one key.
          public_key: fc.constantFrom('x', 'y').map((one) => keyOf(`${id}${one}`)),
          preshared_key: fc.constantFrom(null, OTHER_KEY, OTHER_KEY, OTHER_KEY),
          ipv4: fc.constantFrom('100.64.0.2', '100.64.0.3', '10.0.0.1', null),
          ipv6: fc.constantFrom('fd00::2', null),
          disabled_at: fc.constantFrom(null, null, null, new Date(NOW)),
          expires_at: fc.constantFrom(null, new Date(NOW + DAY / 2), new Date(NOW - DAY)),
          use_default_mtu: fc.boolean(),
          mtu: fc.constantFrom(null, 1_280),
          limit_down: fc.constantFrom(null, null, 2_000_000),
          limit_up: fc.constantFrom(null, 64_000),
        }),
      ).map((fields) => (fields === null ? null : deviceRow({ id, ...fields }))),
    }),
  ),
  fc.constantFrom('r1', 'r2', 'r3').chain((id) =>
    fc.record({
      table: fc.constant('rules' as const),
      id: fc.constant(id),
      row: orGone(
        fc.record({
          user_id: fc.option(userIds),
          group_id: fc.option(groupIds),
          action: fc.constantFrom('accept' as const, 'drop' as const),
          destination: fc.constantFrom('10.0.0.0/8', 'fd00::/8', 'nowhere'),
          enabled: fc.constantFrom(true, true, false),
          enforced: fc.constantFrom(true, true, false),
          starts_at: fc.constantFrom(null, null, new Date(NOW + DAY / 2), new Date(NOW - DAY)),
          ends_at: fc.constantFrom(null, null, new Date(NOW + DAY), new Date(NOW)),
        }),
      ).map((fields) =>
        fields === null
          ? null
          : ruleRow({ id, ...fields, group_id: fields.user_id === null ? fields.group_id : null }),
      ),
    }),
  ),
  fc.record({ user: userIds, groups: fc.subarray(['g1', 'g2', 'g3']) }),
  fc.constantFrom(0, 3_600, 100_000).map((duration) => ({ duration })),
  fc.constantFrom(null, 1_300, 99_999).map((mtu) => ({ mtu })),
  fc.constantFrom(null, 64_000, 3_000_000).map((limit) => ({ limit })),
  fc.constantFrom('accept' as const, 'drop' as const).map((action) => ({ action })),
  fc.constantFrom(1, 3_600_000, DAY, -DAY / 2).map((passMs) => ({ passMs })),
  fc.constant({ readAll: true as const }),
  fc.constant({ tell: true as const }),
  fc.constantFrom('acknowledged' as const, 'lost' as const).map((due) => ({ due })),
);

function keyOf(name: string): string {
  return Buffer.alloc(32, name).toString('base64');
}

const choices: fc.Arbitrary<TranslateSettings> = fc.record({
  ipv4: fc.constant(settings.ipv4),
  ipv6: fc.constantFrom(settings.ipv6, null),
  requireSignIn: fc.boolean(),
  gatewayId: fc.constant('g1'),
  fixed: fc.record(
    {
      vpn_session_duration: fc.constantFrom(0, 60),
      default_client_mtu: fc.constantFrom(null, 1_350),
      default_limit_down: fc.constantFrom(null, 5_000_000),
      default_limit_up: fc.constantFrom(null, 1_000_000),
      default_action: fc.constantFrom('accept' as const, 'drop' as const),
    },
    { requiredKeys: [] },
  ),
});

/** A database, and a translation with a data plane that follow it. */
class Follower {
  readonly rows = {
    users: new Map<string, UserRow>(),
    groups: new Map<string, string[]>(),
    devices: new Map<string, DeviceRow>(),
    rules: new Map<string, RuleRow>(),
    settings: rowSettings(),
  };
  /** What happens to packets that no rule matches, as it was handed over. */
  defaultAction: RuleAction | null = null;
  readonly translation: Translation;
  config: GatewayConfig = { peers: new Map(), rules: new Map() };
  nowMs = NOW;

  constructor(chosen: TranslateSettings) {
    this.translation = new Translation(chosen);
    this.#readAll();
  }

  take(step: Step): void {
    if ('tell' in step) this.#tell();
    else if ('groups' in step) this.#join(step.user, step.groups);
    else if ('due' in step) this.#putDueInForce(step.due);
    else if ('readAll' in step) this.#readAll();
    else if ('passMs' in step) this.translation.passTo((this.nowMs += step.passMs));
    else if ('duration' in step) this.#set({ vpn_session_duration: step.duration });
    else if ('mtu' in step) this.#set({ default_client_mtu: step.mtu });
    else if ('limit' in step)
      this.#set({ default_limit_down: step.limit, default_limit_up: step.limit });
    else if ('action' in step) this.#set({ default_action: step.action });
    else {
      if (step.table === 'users' && step.row === null) this.#join(step.id, []);
      const table = this.rows[step.table] as Map<string, unknown>;
      if (step.row === null) table.delete(step.id);
      else table.set(step.id, step.row);
      const changes = changesOf({ [step.table]: new Map([[step.id, step.row]]) });
      this.translation.take(changes, this.nowMs);
    }
  }

  #join(user: string, groups: string[]): void {
    // The memberships of a user who is gone are gone.
    if (!this.rows.users.has(user)) return;
    this.rows.groups.set(user, groups);
    this.translation.take(changesOf({ groups: new Map([[user, groups]]) }), this.nowMs);
  }

  #tell(): void {
    this.defaultAction = this.translation.pending()?.defaultAction ?? this.defaultAction;
    this.config = afterHandOver(this.translation, this.config);
  }

  #putDueInForce(outcome: 'acknowledged' | 'lost'): void {
    const due = this.translation.handOverDue();
    if (due === null) return;
    if (outcome === 'lost') this.translation.takeBackDue(due);
    else this.config = amended(this.config, due);
  }

  #set(settings: Partial<RowSettings>): void {
    this.rows.settings = { ...this.rows.settings, ...settings };
    this.translation.take(changesOf({ settings: this.rows.settings }), this.nowMs);
  }

  /** As after changes that were forgotten: rows came and went, and nobody says which. */
  #readAll(): void {
    const { all, settings: now } = complete(this.rows as Rows);
    this.translation.take(changesOf({ settings: now }), this.nowMs);
    for (const id of this.rows.users.keys())
      this.translation.take(
        changesOf({ groups: new Map([[id, this.rows.groups.get(id) ?? []]]) }),
        this.nowMs,
      );
    for (const table of ['users', 'devices', 'rules'] as const)
      for (const [id, row] of this.rows[table])
        this.translation.take(changesOf({ [table]: new Map([[id, row]]) }), this.nowMs);
    this.translation.take(changesOf({ all }), this.nowMs);
  }
}

function isSame(a: GatewayConfig, b: GatewayConfig): boolean {
  const standing = new ConfigInForce();
  standing.replace(withoutNumbers(a));
  return isEmpty(standing.replace(withoutNumbers(b)));
}

test('after any changes in any order it says what the slow way says', (t) => {
  fc.assert(
    fc.property(choices, fc.array(steps, { maxLength: 40 }), (chosen, list) => {
      const follower = new Follower(chosen);
      for (const step of list) follower.take(step);
      follower.take({ tell: true });
      const slow = slowTranslate(follower.rows as Rows, chosen, follower.nowMs);
      t.true(isSame(follower.config, slow.config));
      t.is(follower.defaultAction, slow.defaultAction);
      const names = (problems: typeof slow.problems): string[] =>
        problems.map(({ table, id, message }) => `${table} ${id} ${message}`).sort();
      t.deepEqual(names(follower.translation.problems), names(slow.problems));
      for (const [key, peer] of slow.config.peers)
        t.is(
          follower.rows.devices.get(follower.translation.deviceIdOf(key)!)?.public_key,
          peer.publicKey,
        );
    }),
    { ...SEEDED, numRuns: 400 },
  );
});

test('rows that are forgotten and read anew come to the same', (t) => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 20 }), fc.array(steps, { maxLength: 20 }), (a, b) => {
      const follower = new Follower(settings);
      for (const step of [...a, { tell: true } as const]) follower.take(step);
      // These happen while nobody looks.
      const blind = new Follower(settings);
      for (const step of [...a, ...b]) blind.take(step);
      Object.assign(follower.rows, blind.rows);
      follower.nowMs = blind.nowMs;
      follower.take({ readAll: true });
      follower.take({ tell: true });
      const slow = slowTranslate(follower.rows as Rows, settings, follower.nowMs);
      t.true(isSame(follower.config, slow.config));
      t.is(follower.defaultAction, slow.defaultAction);
    }),
    { ...SEEDED, numRuns: 200 },
  );
});

// What is pending is kept in one place: whatever the data plane could not take, it has once a later
// change is taken, and no half of a change is ever in force.

import test from 'ava';
import fc from 'fast-check';
import type { PeerConfig } from '../../../dataplane/contract.ts';
import { type Change, ConfigInForce } from '../../../dataplane/diff.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { type Amendment, GLOBAL_SCOPE } from '../../../dataplane/index.ts';
import { Translation } from '../../../lib/reconcile/translation.ts';
import type { DeviceRow, RuleRow } from '../../../models/index.ts';
import { udp, viewOf } from '../../support/dataplane/packets.ts';
import {
  changesOf,
  deviceRow,
  everything,
  ruleRow,
  settings,
} from '../../support/reconcile/rows.ts';
import { rule as anyRule, SEEDED } from '../../support/dataplane/simulation.ts';
import { judgeAndCount } from '../../support/filter/filtering.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const OWNER = 'u1';
/** As few prefixes as pieces can have, so that they are split and joined all the time. */
const PIECE_MAX = 2;

/** A data plane as the worker holds it: what it was handed, change after change. */
class Worker {
  readonly peers = new Map<string, PeerConfig>();
  readonly filter = new Filter('accept');
  readonly #scope = this.filter.hold(OWNER);

  take({ removed, updated, added, scopes }: Change): void {
    for (const key of removed) this.peers.delete(key);
    for (const peer of added) this.peers.set(peer.publicKey, peer);
    for (const peer of updated)
      this.peers.set(peer.publicKey, { ...this.peers.get(peer.publicKey), ...peer });
    for (const { name, compiled } of scopes) this.filter.change(name, compiled);
  }

  /** The reason for each of many packets, and the hits that they left. */
  verdicts(): unknown[] {
    const packet = new InnerPacket();
    const reasons: number[] = [];
    for (let network = 0; network < 12; network++)
      for (const port of [53, 80]) {
        const destination = `10.${network}.0.7`;
        const bytes = udp({ source: '100.64.0.2', destination, destinationPort: port });
        parseInner(viewOf(bytes), 0, bytes.length, packet);
        reasons.push(judgeAndCount(this.filter, packet, this.#scope));
      }
    const hits = [...this.filter.takeHits()].filter((one) => one !== null);
    return [reasons, hits.toSorted((a, b) => a.id.localeCompare(b.id))];
  }
}

/** An amendment with a rule beside that cannot be compiled, when the others are. */
function broken(amendment: Amendment): Amendment {
  const rule = Object.defineProperty(anyRule('bad', 'drop', '10.0.0.0/8'), 'portType', {
    get: () => {
      throw new Error('Array buffer allocation failed');
    },
  });
  const bad = new Map([['bad', [rule]]]);
  return { ...amendment, rules: new Map([...amendment.rules, ['somebody', bad]]) };
}

const rules = fc.record({
  id: fc.integer({ min: 0, max: 11 }).map((number) => `r${number}`),
  destination: fc.option(
    fc.tuple(fc.integer({ min: 0, max: 11 }), fc.constantFrom(8, 14, 16, 24)),
    { freq: 3 },
  ),
  port: fc.option(fc.constantFrom(53, 80)),
  action: fc.constantFrom('accept' as const, 'drop' as const),
  isGlobal: fc.boolean(),
});
const devices = fc.record({
  number: fc.integer({ min: 1, max: 4 }),
  key: fc.option(fc.integer({ min: 1, max: 6 })),
});
const steps = fc.array(
  fc.record({ rule: fc.option(rules), device: fc.option(devices), fails: fc.boolean() }),
  { minLength: 1, maxLength: 30 },
);

function rowOf(rule: typeof rules extends fc.Arbitrary<infer T> ? T : never): RuleRow | null {
  const { id, destination, port, action, isGlobal } = rule;
  if (destination === null) return null;
  const ports =
    port === null ? {} : { port_type: 'udp' as const, port_start: port, port_end: port };
  const network = `10.${destination[0]}.0.0/${destination[1]}`;
  return ruleRow({ id, action, destination: network, user_id: isGlobal ? null : OWNER, ...ports });
}

function deviceOf(number: number, key: number | null): DeviceRow | null {
  if (key === null) return null;
  const public_key = Buffer.alloc(32, key).toString('base64');
  const addresses = { ipv4: `100.64.0.${number + 1}`, ipv6: `fd00::${number + 1}` };
  return deviceRow({ id: `d${number}`, user_id: OWNER, public_key, ...addresses });
}

test('whatever fails on the way, what is in force in the end is what the rows mean', (t) => {
  fc.assert(
    fc.property(steps, (list) => {
      const translation = new Translation(settings);
      const standing = new ConfigInForce(PIECE_MAX);
      const worker = new Worker();
      const carry = (fails: boolean): void => {
        const amendment = translation.pending();
        if (amendment === null) return;
        translation.handOver();
        const before = [...standing.peers];
        if (!fails) {
          worker.take(standing.amend(amendment));
          return;
        }
        t.throws(() => standing.amend(broken(amendment)), { message: /allocation failed/ });
        t.deepEqual([...standing.peers], before, 'no half of it is in force');
        translation.takeBack(amendment);
      };
      translation.take(everything({ devices: [] }), NOW);
      for (const { rule, device, fails } of list) {
        const byRule = rule === null ? [] : [[rule.id, rowOf(rule)] as const];
        const byDevice =
          device === null
            ? []
            : [[`d${device.number}`, deviceOf(device.number, device.key)] as const];
        translation.take(changesOf({ rules: new Map(byRule), devices: new Map(byDevice) }), NOW);
        carry(fails);
      }
      carry(false);
      t.is(translation.pending(), null);
      const begun = new Worker();
      begun.take(standing.fromNothing());
      t.deepEqual(worker.peers, begun.peers);
      t.deepEqual(worker.verdicts(), begun.verdicts());
      const last = new Map(list.flatMap(({ rule }) => (rule === null ? [] : [[rule.id, rule]])));
      const wanted = [...last.values()].map(rowOf).filter((row) => row !== null);
      const whole = new Translation(settings);
      whole.take(everything({ devices: [], rules: wanted }), NOW);
      const once = new Worker();
      once.take(new ConfigInForce().amend(whole.pending()!));
      t.deepEqual(once.verdicts(), begun.verdicts());
    }),
    SEEDED,
  );
});

test('what changed while an amendment was on its way stays pending', (t) => {
  const translation = new Translation(settings);
  translation.take(everything({ rules: [ruleRow()] }), NOW);
  const first = translation.pending()!;
  translation.handOver();
  const row = ruleRow({ destination: '10.1.0.0/16' });
  translation.take(changesOf({ rules: new Map([[row.id, row]]) }), NOW);
  const between = translation.pending()!;
  t.deepEqual([...between.rules.get(GLOBAL_SCOPE)!.keys()], ['r1']);
  t.is(between.peers.size, 0);
  translation.takeBack(first);
  const again = translation.pending()!;
  t.deepEqual([...again.peers.keys()], [...first.peers.keys()]);
  t.is(again.rules.get(GLOBAL_SCOPE)!.get('r1')![0]!.prefixBits, 16, 'as it is now, not as it was');
  t.is(again.defaultAction, 'accept');
});

// What rules make of a policy test, the slow way: every rule is looked at, in the order of
// docs/packets.md#order-of-the-rules. It shares no code with the filter.

import { parseRange } from '../../../../models/index.ts';

/** A rule as the API shows it. */
export interface ShownRule {
  readonly id: string;
  readonly action: 'accept' | 'drop';
  readonly destination: string;
  readonly port_type: 'tcp' | 'udp' | null;
  readonly port_range: string | null;
  readonly protocol: 'icmp' | null;
  readonly user_id: string | null;
}

/** A packet of a user. */
export interface TwinPacket {
  readonly ownerId: string;
  readonly destination: string;
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  readonly port: number | null;
}

/** What becomes of a packet; the deciding rules are all that are equally good. */
export interface TwinVerdict {
  readonly verdict: 'accept' | 'drop';
  readonly rules: readonly string[];
}

/** Judges a packet. */
export function twinVerdict(
  rules: readonly ShownRule[],
  packet: TwinPacket,
  defaultAction: 'accept' | 'drop',
): TwinVerdict {
  const matching = rules.filter((rule) => matches(rule, packet));
  for (const owner of [packet.ownerId, null])
    for (const hasPorts of [true, false])
      for (const action of ['accept', 'drop'] as const) {
        const deciding = matching.filter(
          (rule) =>
            rule.user_id === owner &&
            rule.action === action &&
            (rule.port_type !== null || rule.protocol !== null) === hasPorts,
        );
        if (deciding.length > 0) return { verdict: action, rules: deciding.map(({ id }) => id) };
      }
  return { verdict: defaultAction, rules: [] };
}

function matches(rule: ShownRule, { destination, protocol, port }: TwinPacket): boolean {
  const [range, one] = [parseRange(rule.destination), parseRange(destination)];
  if (range === null || one === null || range.family !== one.family) return false;
  if (range.start > one.start || range.end < one.end) return false;
  if (rule.protocol !== null) return protocol === rule.protocol;
  if (rule.port_type === null) return true;
  const [first = '0', last = first] = (rule.port_range ?? '').split(' - ');
  return rule.port_type === protocol && port !== null && +first <= port && port <= +last;
}

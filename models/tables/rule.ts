// The rules table: what devices may reach. Beside the destination as given it has the range of
// addresses it covers, so that overlapping rules are found through an index. docs/api.md#rules.

import {
  type NewRuleColumns,
  type PortlessProtocol,
  type PortType,
  type RuleAction,
  type RuleColumns,
  ruleFields,
} from '../fields/rule.ts';
import { type AddressRange, parseRange, type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/**
 * One rule; its columns are properties of it. Setting `destination` sets `family` and the range.
 */
export class Rule extends modelOf<RuleColumns, NewRuleColumns>() {}

/** What decides whether two rules overlap. */
export interface RuleScope {
  action: RuleAction;
  destination: string;
  protocol: PortlessProtocol | null;
  port_type: PortType | null;
  port_start: number | null;
  port_end: number | null;
  user_id: string | null;
  group_id: string | null;
  starts_at: Date | null;
  ends_at: Date | null;
}

/** The packets that a rule means, in the form in which two rules are compared. */
export interface RuleExtent extends AddressRange {
  user_id: string | null;
  group_id: string | null;
  action: RuleAction;
  protocol: PortlessProtocol | null;
  port_type: PortType | null;
  port_start: number | null;
  port_end: number | null;
  /** When the rule decides from now on, in Unix ms: from `from` on and before `until`. */
  from: number;
  until: number;
}

/**
 * The extent of a rule that is, or would be, from `nowMs` on (Unix time); a destination that cannot
 * be read is an error.
 */
export function extentOf(
  { destination, starts_at, ends_at, ...scope }: RuleScope,
  nowMs: number,
): RuleExtent {
  const range = parseRange(destination);
  if (range === null) throw new TypeError('The destination is neither an address nor a CIDR');
  return { ...scope, ...range, ...timesFrom(nowMs, starts_at, ends_at) };
}

/** The time in which a rule decides from now on. For a rule that is over, this time is empty. */
export function timesFrom(
  nowMs: number,
  startsAt: Date | null,
  endsAt: Date | null,
): Pick<RuleExtent, 'from' | 'until'> {
  return {
    from: Math.max(nowMs, startsAt?.getTime() ?? nowMs),
    until: endsAt?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}

/** Ports as the API writes them: `443`, `8000 - 8100`; null: there are none. */
export function portRangeOf(start: number | null, end: number | null): string | null {
  if (start === null || end === null) return null;
  return start === end ? String(start) : `${start} - ${end}`;
}

/**
 * True when two rules overlap: same scope, action and protocol, a common address and port, at some
 * time from now on.
 */
export function overlaps(a: RuleExtent, b: RuleExtent): boolean {
  if (!haveOneScope(a, b) || a.action !== b.action) return false;
  return haveOneProtocol(a, b) && shareAPacket(a, b);
}

/** True when some packet is matched by two rules at some time, whosever they are. */
export function shareAPacket(a: RuleExtent, b: RuleExtent): boolean {
  if (a.family !== b.family || a.start > b.end || a.end < b.start) return false;
  if (Math.max(a.from, b.from) >= Math.min(a.until, b.until)) return false;
  if (isForAll(a) || isForAll(b)) return true;
  // Without a protocol of ports there are no ports.
  return (
    haveOneProtocol(a, b) &&
    (a.port_start ?? 0) <= (b.port_end ?? 0) &&
    (a.port_end ?? 0) >= (b.port_start ?? 0)
  );
}

/**
 * True when every packet of `rule` is decided by `other` before, as long as `rule` has time: of one
 * scope accept comes before drop, with ports and without. So only a rule that drops can be
 * shadowed.
 */
export function isShadowedBy(rule: RuleExtent, other: RuleExtent): boolean {
  if (rule.action !== 'drop' || other.action !== 'accept') return false;
  if (!haveOneScope(rule, other) || !haveOneProtocol(rule, other)) return false;
  if (rule.family !== other.family || other.start > rule.start || other.end < rule.end)
    return false;
  if (rule.from >= rule.until || other.from > rule.from || other.until < rule.until) return false;
  return (
    (other.port_start ?? 0) <= (rule.port_start ?? 0) &&
    (other.port_end ?? 0) >= (rule.port_end ?? 0)
  );
}

/** Whether a rule means all traffic. */
function isForAll({ port_type, protocol }: RuleExtent): boolean {
  return port_type === null && protocol === null;
}

/** Whether two rules are asked together: they are of one user, of one group, or everyone's. */
function haveOneScope(a: RuleExtent, b: RuleExtent): boolean {
  return a.user_id === b.user_id && a.group_id === b.group_id;
}

/** Whether two rules name the same protocol, or none. */
function haveOneProtocol(a: RuleExtent, b: RuleExtent): boolean {
  return a.port_type === b.port_type && a.protocol === b.protocol;
}

/** Binds the table to one database. */
export function initRule(context: TableContext): typeof Rule {
  const columns = columnsFrom(ruleFields, 'rules', context);
  return class extends Rule {}.init(
    {
      ...columns,
      destination: {
        ...columns.destination,
        set(this: Rule, destination: string) {
          const range = parseRange(destination);
          if (range === null) throw new TypeError('destination takes an address or a CIDR');
          this.setDataValue('destination', destination);
          this.setDataValue('family', range.family);
          this.setDataValue('range_start', range.start);
          this.setDataValue('range_end', range.end);
        },
      },
    },
    { sequelize: context.sequelize, modelName: 'rule', tableName: 'rules', ...timestamps },
  );
}

// The rules table: what devices may reach. Beside the destination as given stands the range of
// addresses it covers, so that overlapping rules are found through an index. api.md, section 6.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import {
  type AddressRange,
  type Family,
  idColumn,
  nullable,
  parseRange,
  type TableContext,
  timestampColumns,
  timestamps,
} from './columns.ts';

/** What a rule does with the packets that it matches. */
export type RuleAction = 'accept' | 'drop';

/** The protocol that a rule with ports speaks of. */
export type PortType = 'tcp' | 'udp';

/** One rule. */
export class Rule extends Model<InferAttributes<Rule>, InferCreationAttributes<Rule>> {
  declare id: CreationOptional<string>;
  declare action: CreationOptional<RuleAction>;
  /** As given, host bits and prefix kept. Setting it sets `family` and the range. */
  declare destination: string;
  /** Set through `destination` only, as the range is. */
  declare family: CreationOptional<Family>;
  /** First address of the destination, 8 or 32 hex digits. */
  declare range_start: CreationOptional<string>;
  /** Last address of the destination, 8 or 32 hex digits. */
  declare range_end: CreationOptional<string>;
  /** Null: all traffic; then both ports are null too. */
  declare port_type: CreationOptional<PortType | null>;
  declare port_start: CreationOptional<number | null>;
  declare port_end: CreationOptional<number | null>;
  /** Null: the rule is everyone's. */
  declare user_id: CreationOptional<string | null>;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
}

/** What decides whether two rules overlap. */
export interface RuleScope {
  action: RuleAction;
  destination: string;
  port_type: PortType | null;
  port_start: number | null;
  port_end: number | null;
  user_id: string | null;
}

/** The packets that a rule means, in the form in which two rules are compared. */
export interface RuleExtent extends AddressRange {
  user_id: string | null;
  action: RuleAction;
  port_type: PortType | null;
  port_start: number | null;
  port_end: number | null;
}

/** The extent of a rule that is, or would be; a destination that cannot be read is an error. */
export function extentOf({ destination, ...scope }: RuleScope): RuleExtent {
  const range = parseRange(destination);
  if (range === null) throw new TypeError('The destination is neither an address nor a CIDR');
  return { ...scope, ...range };
}

/** True when two rules overlap: same owner, action and protocol, a common address and port. */
export function overlaps(a: RuleExtent, b: RuleExtent): boolean {
  if (a.user_id !== b.user_id || a.action !== b.action) return false;
  if (a.family !== b.family || a.start > b.end || a.end < b.start) return false;
  if (a.port_type !== b.port_type) return false;
  // Without a protocol there are no ports.
  return (a.port_start ?? 0) <= (b.port_end ?? 0) && (a.port_end ?? 0) >= (b.port_start ?? 0);
}

/**
 * True when every packet of `rule` was decided by `other` before: of one scope accept comes before
 * drop, with ports and without. So only a rule that drops can be shadowed.
 */
export function isShadowedBy(rule: RuleExtent, other: RuleExtent): boolean {
  if (rule.action !== 'drop' || other.action !== 'accept') return false;
  if (rule.user_id !== other.user_id || rule.port_type !== other.port_type) return false;
  if (rule.family !== other.family || other.start > rule.start || other.end < rule.end)
    return false;
  return (
    (other.port_start ?? 0) <= (rule.port_start ?? 0) &&
    (other.port_end ?? 0) >= (rule.port_end ?? 0)
  );
}

/** Binds the table to one database. */
export function initRule({ sequelize }: TableContext): typeof Rule {
  return class extends Rule {}.init(
    {
      id: idColumn(),
      action: { type: DataTypes.STRING(16), allowNull: false, defaultValue: 'drop' },
      destination: {
        type: DataTypes.STRING(64),
        allowNull: false,
        set(this: Rule, destination: string) {
          const range = parseRange(destination);
          if (range === null) throw new TypeError('destination takes an address or a CIDR');
          this.setDataValue('destination', destination);
          this.setDataValue('family', range.family);
          this.setDataValue('range_start', range.start);
          this.setDataValue('range_end', range.end);
        },
      },
      family: { type: DataTypes.TINYINT, allowNull: false },
      range_start: { type: DataTypes.STRING(32), allowNull: false },
      range_end: { type: DataTypes.STRING(32), allowNull: false },
      port_type: nullable(DataTypes.STRING(8)),
      port_start: nullable(DataTypes.INTEGER),
      port_end: nullable(DataTypes.INTEGER),
      user_id: nullable(DataTypes.CHAR(36)),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'rule', tableName: 'rules', ...timestamps },
  );
}

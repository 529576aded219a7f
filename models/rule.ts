// The rules table: what devices may reach. Beside the destination as given stands the range of
// addresses it covers, so that overlapping rules are found through an index. api.md, section 6.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
  Op,
  type Transaction,
  type WhereOptions,
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

/**
 * Finds a rule that overlaps the given one: same owner, action and protocol, a common address and
 * a common port. `exceptId` names the rule itself in an update. The scope must be locked before
 * (`lockScopes`: the user's, or the configuration for global rules), or two writers both win.
 */
export async function findOverlappingRule(
  model: typeof Rule,
  rule: RuleScope,
  options: { transaction: Transaction; exceptId?: string },
): Promise<Rule | null> {
  const range = parseRange(rule.destination);
  if (range === null) throw new TypeError('The destination is neither an address nor a CIDR');
  const where: WhereOptions<InferAttributes<Rule>> = {
    user_id: rule.user_id,
    action: rule.action,
    family: range.family,
    port_type: rule.port_type,
    [Op.or]: [
      { range_start: { [Op.between]: [range.start, range.end] } },
      { range_start: { [Op.in]: enclosingStarts(range) }, range_end: { [Op.gte]: range.end } },
    ],
    ...(rule.port_type === null
      ? {}
      : { port_start: { [Op.lte]: rule.port_end }, port_end: { [Op.gte]: rule.port_start } }),
    ...(options.exceptId === undefined ? {} : { id: { [Op.ne]: options.exceptId } }),
  };
  return model.findOne({ where, transaction: options.transaction });
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

/**
 * First addresses of all networks around a range. Networks either contain one another or are
 * apart, so these few starts (33 or 129 at most) find every enclosing rule through the index,
 * where comparing both ends would walk all rules of the scope.
 */
function enclosingStarts(range: AddressRange): string[] {
  const width = range.start.length;
  const start = BigInt(`0x${range.start}`);
  const starts = new Set<string>();
  for (let hostBits = 0n; hostBits <= BigInt(width * 4); hostBits += 1n)
    starts.add(((start >> hostBits) << hostBits).toString(16).padStart(width, '0'));
  return [...starts];
}

// Rules: what may be sent, what is shown, and what the operations do. docs/api.md#rules.

import type Joi from 'joi';
import {
  type Database,
  extentOf,
  isShadowedBy,
  newId,
  type ObeyedRule,
  overlaps,
  portRangeOf,
  readPolicyTests,
  readGroupIds,
  readRivalRules,
  readRules,
  readTouchingRules,
  readUserIds,
  removeRules,
  type Rule,
  ruleFields,
  type RuleExtent,
  type RuleRow,
  type Selection,
  type SentOf,
  type Transaction,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { idFilter, isReadableId, isUuid, joi, mark, text } from '../../kit/validation/fields.ts';
import {
  addError,
  type Errors,
  hasNoErrors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import {
  type Collection,
  lockRecord,
  type RecordContext,
  selectOwner,
} from '../../kit/records/collection.ts';
import { messages } from '../../kit/validation/messages.ts';
import { type FailingTest, failureErrors, noteFailures, PolicyGuard } from '../policy/guard.ts';
import type { PolicyContext } from '../policy/trial.ts';
import type { Caller } from '../../kit/process/caller.ts';
import {
  columnDefaults,
  columnsSent,
  schemaOf,
  type SentColumn,
  sentColumns,
} from '../../kit/validation/resource.ts';
import { validatePorts, validateTimes } from './field-pairs.ts';
import type { RuleMemory } from './rule-memory.ts';
import { ruleTimes } from '../../reconcile/translate.ts';
import { showerOf, type Shown } from '../../kit/records/shown.ts';
import { type JointWork, refusalFor, refuseErrors, saveChanges } from '../../kit/records/writes.ts';

const PORT_MAX = 65_535;
/** The most rules that are named beside another rule. */
const TOUCHING_MAX = 20;
/** A single number may be negative here: the error is then its range and not its form. */
const PORTS = /^(-?\d+)(?:\s*-\s*(\d+))?$/;

/** The values of the fields of a rule. */
export type RuleValues = SentOf<typeof ruleFields>;

/** The columns of a rule that follow from what was sent. */
export type RuleContent = Pick<Rule, SentColumn<typeof ruleFields> | 'port_start' | 'port_end'>;

/** A rule with only default values. */
const UNSAID: RuleContent = { ...columnDefaults(ruleFields), destination: '', ...portsOf(null) };

/** The schema that validates a rule and describes it. */
export const ruleSchema = schemaOf(ruleFields, {
  ports: ({ description }) =>
    mark(joi.any().custom(validatePortRange, 'N or N - M').description(description), {
      json: {
        type: ['string', 'integer'],
        pattern: '^\\d{1,5}(\\s*-\\s*\\d{1,5})?$',
        minimum: 1,
        maximum: PORT_MAX,
      },
      shown: { type: 'string', pattern: '^\\d{1,5}( - \\d{1,5})?$' },
    }),
});

/** The filters of a list of rules. */
export const ruleFilters = {
  user_id: {
    schema: text('Only rules of this user; empty: those for everyone.').allow(''),
    select: (id: string) => (id === '' ? { userId: null } : selectOwner(id)),
  },
  group_id: {
    schema: idFilter('Only rules of this group.'),
    select: (id: string) => (isUuid(id) ? { groupId: id.toLowerCase() } : null),
  },
};

/** A rule as it is shown. */
export function showRule(rule: RuleRow): Shown {
  return shownRule(rule, { port_range: portRangeOf(rule.port_start, rule.port_end) });
}

const shownRule = showerOf(ruleFields);

/** Whether a rule decides, or why not: it is disabled, waits for its start, is over, or staged. */
export type RuleState = 'enabled' | 'disabled' | 'waiting' | 'over' | 'staged';

/** The state of a rule at a time (Unix ms). */
export function ruleState(
  rule: Pick<RuleRow, 'enabled' | 'enforced' | 'starts_at' | 'ends_at'>,
  nowMs: number,
): RuleState {
  const { startMs, endMs } = ruleTimes(rule);
  if (!rule.enabled) return 'disabled';
  if (nowMs >= endMs) return 'over';
  if (nowMs < startMs) return 'waiting';
  return rule.enforced ? 'enabled' : 'staged';
}

/** Validates the fields of a rule by themselves. */
export const validateRule = validatorOf<RuleValues>(ruleSchema);

/** The rules of one server. */
export class Rules implements Collection<RuleValues> {
  readonly name = 'rules';
  readonly sources = [{ table: 'rules' }] as const;
  readonly filters = ruleFilters;
  readonly validate = validateRule;
  readonly #context: RecordContext;
  readonly #creation: JointWork<SentRule, GuardedRule, Rule> = {
    scopes: ({ row }) => ({ configuration: row.user_id === null }),
    check: (transaction, rules) => guardNewRules(this.#context, rules, transaction),
    write: async (transaction, plans) => {
      for (const [index, { row, failing }] of plans.entries())
        noteFailures(transaction, failing, { ruleId: row.id, index });
      const rows = plans.map(({ row }) => row);
      return this.#database.models.Rule.bulkCreate(rows, { transaction, validate: false });
    },
  };

  constructor(context: RecordContext) {
    this.#context = context;
  }

  async list(selection: Selection): Promise<Shown[]> {
    return (await readRules(this.#database, selection)).map(showRule);
  }

  async show(id: string): Promise<Shown> {
    const [rule] = isUuid(id) ? await readRules(this.#database, { ids: [id.toLowerCase()] }) : [];
    if (rule === undefined) throw new ApiError('not_found');
    return showRule(rule);
  }

  /** `force`: whether it is made though policy tests fail then. */
  async create(caller: Caller, input: Validated<RuleValues>, force = false): Promise<Shown> {
    const sent = { ...newRule(input), isForced: force };
    return showRule(await this.#context.writes.join(caller, this.#creation, sent));
  }

  /** `force`: whether it is changed though policy tests fail then. */
  async update(
    caller: Caller,
    id: string,
    input: Validated<RuleValues>,
    force = false,
  ): Promise<Shown> {
    const rule = await this.#context.writes.run(caller, {
      // All updates hold this scope, so no other one can give a rule another owner meanwhile.
      scopes: { configuration: true },
      check: async (transaction) => {
        const present = await lockRecord(this.#database.models.Rule, id, transaction);
        const change = await validateChange(this.#context, input, { present, force }, transaction);
        return { present, ...change };
      },
      write: (transaction, { present, row, failing }) => {
        noteFailures(transaction, failing, { ruleId: present.id });
        caller.failing = failing.length;
        return saveChanges(present, row, transaction);
      },
    });
    return showRule(rule);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#context.writes.run(caller, {
      check: async (transaction) => {
        const [rule, tests] = await Promise.all([
          lockRecord(this.#database.models.Rule, id, transaction),
          readPolicyTests(this.#database, { transaction }),
        ]);
        const change = { before: obeyedRule(rule), after: null };
        const guard = await PolicyGuard.open(this.#context, tests, [change], transaction);
        return { rule, failing: guard.change(change) };
      },
      // A removal is never held up.
      write: (transaction, { rule, failing }) => {
        noteFailures(transaction, failing, { ruleId: rule.id });
        caller.failing = failing.length;
        return removeRules(this.#database, [rule.id], transaction);
      },
    });
  }

  /**
   * The rules that match some of the packets of a rule that is typed: those that prevent it, and
   * others. Empty if the input is not complete or the rule is off. `id` is the id of the rule
   * itself, if it exists. With `memory` the database is not asked.
   */
  async touching(
    { values, errors }: Validated<RuleValues>,
    id: string | null,
    memory?: RuleMemory,
  ): Promise<Touching> {
    const find = (one: string): Promise<RuleRow | null> =>
      memory?.find(one) ?? this.#database.models.Rule.findByPk(one);
    const present = id === null ? null : await find(id.toLowerCase());
    const row = merge(values, present);
    const isReadable = [
      'destination',
      'port_range',
      'port_type',
      'protocol',
      'user_id',
      'group_id',
      'action',
      'starts_at',
      'ends_at',
    ].every((name) => errors[name] === undefined);
    if (!isReadable || row.destination === '' || !isOn(row))
      return { rivals: [], others: [], shadow: null, shadowed: [] };
    const now = Date.now();
    const extent = extentOf(row, now);
    const found =
      (await memory?.touching(extent, now, TOUCHING_MAX + 1)) ?? (await this.#touching(extent));
    const rules = found.filter((rule) => rule.id !== id);
    const isRival = (rule: RuleRow): boolean => overlaps(extentOf(rule, now), extent);
    return {
      rivals: rules.filter(isRival),
      others: rules.filter((rule) => !isRival(rule)),
      shadow: rules.find((rule) => isShadowedBy(extent, extentOf(rule, now))) ?? null,
      shadowed: rules.filter((rule) => isShadowedBy(extentOf(rule, now), extent)),
    };
  }

  async #touching(extent: RuleExtent): Promise<RuleRow[]> {
    const ids = await readTouchingRules(this.#database, extent, TOUCHING_MAX + 1);
    return readRules(this.#database, { ids });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** A new rule, and whether its sender insists on it though policy tests fail. */
export interface SentRule extends NewRule {
  readonly isForced: boolean;
}

/** A new rule that may be written, with the policy tests that fail because of it. */
export interface GuardedRule {
  readonly row: RuleContent & { readonly id: string };
  readonly failing: readonly FailingTest[];
}

/**
 * Checks new rules as `validateNewRules` does, and refuses those that break passing policy tests.
 * After such a refusal no more are checked, because those before were checked beside it.
 */
export async function guardNewRules(
  context: PolicyContext,
  rules: readonly SentRule[],
  transaction: Transaction,
): Promise<(GuardedRule | ApiError)[]> {
  const { database } = context.services;
  const [checked, tests] = await Promise.all([
    validateNewRules(database, rules, transaction),
    readPolicyTests(database, { transaction }),
  ]);
  const named = checked.map(({ errors, row }) => ({ errors, row: { ...row, id: newId() } }));
  const changes = named.map(({ row }) => ({ before: null, after: row }));
  const good = changes.filter((_, i) => hasNoErrors(named[i]?.errors ?? {}));
  const guard = await PolicyGuard.open(context, tests, good, transaction);
  const outcomes: (GuardedRule | ApiError)[] = [];
  for (const [i, { errors, row }] of named.entries()) {
    if (!hasNoErrors(errors)) {
      outcomes.push(refusalFor(errors));
      continue;
    }
    const failing = guard.change({ before: null, after: row });
    const forced = rules[i]?.isForced === true;
    const held = failureErrors(failing, row.id);
    if (!hasNoErrors(held) && !forced) {
      outcomes.push(refusalFor(held));
      break;
    }
    outcomes.push({ row, failing });
  }
  return outcomes;
}

/** What gateways obey of a rule as it is. */
export function obeyedRule(rule: Rule): ObeyedRule {
  return { ...contentOf(rule), id: rule.id };
}

/** A rule that was checked; `row` is good if there are no errors. */
export interface CheckedRule {
  readonly errors: Errors;
  readonly row: RuleContent;
}

/**
 * Checks new rules, each as if those before it existed already. If one of them is for everyone or
 * for a group, the scope of the configuration must be locked.
 */
export async function validateNewRules(
  database: Database,
  rules: readonly NewRule[],
  transaction: Transaction,
): Promise<CheckedRule[]> {
  const now = Date.now();
  const checked = (await validateFields(rules, null, { database, transaction })).map((rule) => ({
    ...rule,
    extent: hasNoErrors(rule.errors) && isOn(rule.row) ? extentOf(rule.row, now) : null,
  }));
  const wanted = checked.map(({ extent }) => extent).filter((extent) => extent !== null);
  const rivals: RuleExtent[] = await readRivalRules(database, wanted, now, transaction);
  return checked.map(({ errors, row, extent }) => {
    if (extent === null) return { errors, row };
    if (rivals.some((rival) => overlaps(rival, extent)))
      return { errors: { destination: [messages.overlap] }, row };
    rivals.push(extent);
    return { errors, row };
  });
}

/** A change of a rule that may be written, with the policy tests that fail because of it. */
export interface GuardedChange {
  readonly row: RuleContent;
  readonly failing: readonly FailingTest[];
}

/**
 * Checks a change of a rule, and throws what refuses it. `force`: whether policy tests may fail.
 * The scope of the configuration must be locked.
 */
export async function validateChange(
  context: PolicyContext,
  input: Validated<RuleValues>,
  { present, force }: { present: Rule; force: boolean },
  transaction: Transaction,
): Promise<GuardedChange> {
  const { database } = context.services;
  const row = merge(input.values, present);
  const [errors, tests] = await Promise.all([
    validateUpdate(database, { input, row }, present, transaction),
    readPolicyTests(database, { transaction }),
  ]);
  refuseErrors(errors);
  const change = { before: obeyedRule(present), after: { ...row, id: present.id } };
  const guard = await PolicyGuard.open(context, tests, [change], transaction);
  const failing = guard.change(change);
  if (!force) refuseErrors(failureErrors(failing, present.id));
  return { row, failing };
}

/** All errors of an update; they are about the rule as it would become. */
async function validateUpdate(
  database: Database,
  rule: NewRule,
  present: Rule,
  transaction: Transaction,
): Promise<Errors> {
  const [{ errors } = { errors: {} }] = await validateFields([rule], present, {
    database,
    transaction,
  });
  if (!hasNoErrors(errors) || !movesRule(rule.row, present)) return errors;
  const now = Date.now();
  const extent = extentOf(rule.row, now);
  const rivals = await readRivalRules(database, [extent], now, transaction);
  if (rivals.some((rival) => rival.id !== present.id && overlaps(rival, extent)))
    addError(errors, 'destination', messages.overlap);
  return errors;
}

/** A rule as it was sent, and as it would become. */
export function newRule(input: Validated<RuleValues>): NewRule {
  return { input, row: merge(input.values, null) };
}

/** The errors of each rule alone; locks users and groups whose rules they are. */
async function validateFields(
  rules: readonly NewRule[],
  present: Rule | null,
  { database, transaction }: { database: Database; transaction: Transaction },
): Promise<CheckedRule[]> {
  const named = (field: 'user_id' | 'group_id'): string[] => {
    const readable = rules.filter(({ input }) => input.errors[field] === undefined);
    return [...new Set(readable.map(({ row }) => row[field]).filter((id) => id !== null))];
  };
  const lock = { transaction, lock: true };
  const users = await readUserIds(database, named('user_id'), lock);
  const groups = await readGroupIds(database, named('group_id'), transaction);
  return rules.map(({ input, row }) => {
    const errors = { ...input.errors };
    validatePorts(input.values, present, errors);
    validateTimes(row, errors);
    const { user_id, group_id } = row;
    if (user_id !== null && errors['user_id'] === undefined && !users.has(user_id))
      addError(errors, 'user_id', messages.absent);
    if (group_id !== null && errors['group_id'] === undefined) {
      if (user_id !== null) addError(errors, 'group_id', messages.ofUserAlready);
      else if (!groups.has(group_id)) addError(errors, 'group_id', messages.absent);
    }
    return { errors, row };
  });
}

/** The rules that match some of the packets of another rule. */
export interface Touching {
  /** They overlap: while one of these exists, the other rule is refused. */
  readonly rivals: readonly RuleRow[];
  /** They may exist beside it. docs/packets.md#order-of-the-rules says which of them decides. */
  readonly others: readonly RuleRow[];
  /** The rule that always decides before it; null if there is none. */
  readonly shadow: RuleRow | null;
  /** The rules that would never decide because of it. */
  readonly shadowed: readonly RuleRow[];
}

/** A rule that was sent, and the row that it would become. */
export interface NewRule {
  readonly input: Validated<RuleValues>;
  readonly row: RuleContent;
}

/** The row that a rule would become: what was sent, else the present values, else the defaults. */
function merge(values: RuleValues, present: RuleRow | null): RuleContent {
  const { port_range: ports } = values;
  return {
    ...(present === null ? UNSAID : contentOf(present)),
    ...columnsSent(ruleFields, values),
    ...(ports === undefined ? {} : portsOf(ports)),
  };
}

function contentOf(rule: RuleRow): RuleContent {
  const names: (keyof RuleContent)[] = [...sentColumns(ruleFields), 'port_start', 'port_end'];
  return Object.fromEntries(names.map((name) => [name, rule[name]])) as RuleContent;
}

function portsOf(ports: RuleValues['port_range']): Pick<Rule, 'port_start' | 'port_end'> {
  return { port_start: ports?.start ?? null, port_end: ports?.end ?? null };
}

/** Whether a rule decides while it has time. */
function isOn({ enabled, enforced }: RuleContent): boolean {
  return enabled && enforced;
}

/** True if a rule would match packets that it does not match now. */
function movesRule(row: RuleContent, present: Rule): boolean {
  if (!isOn(row)) return false;
  const names = Object.keys(row) as (keyof RuleContent)[];
  return names.some((name) => name !== 'description' && !isSame(row[name], present[name]));
}

function isSame(one: RuleContent[keyof RuleContent], other: typeof one): boolean {
  return one instanceof Date && other instanceof Date
    ? one.getTime() === other.getTime()
    : one === other;
}

/** Reads `N`, `N-M`, `N - M` or a number into the ports that it means. */
function validatePortRange(value: unknown, helpers: Joi.CustomHelpers): unknown {
  if (typeof value === 'string' && !isReadableId(value)) return helpers.error('string.unreadable');
  const text = Number.isInteger(value) ? String(BigInt(value as number)) : value;
  const matched = typeof text === 'string' ? PORTS.exec(text.trim()) : null;
  if (matched === null) return helpers.error('ports.format');
  const start = Number(matched[1]);
  const end = Number(matched[2] ?? matched[1]);
  if (![start, end].every((port) => port >= 1 && port <= PORT_MAX))
    return helpers.error('ports.range');
  return start > end ? helpers.error('ports.reversed') : { start, end };
}

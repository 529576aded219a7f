// Groups: what may be sent, what is shown, and what the operations do. docs/api.md#groups.

import {
  type Database,
  type Group,
  groupFields,
  GROUPS_MAX,
  type GroupWish,
  readGroups,
  removeGroup,
  type SentOf,
  type Transaction,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import {
  addError,
  type Errors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import { columnDefaults, columnsSent, schemaOf } from '../../kit/validation/resource.ts';
import type { PolicyContext } from '../policy/trial.ts';
import { watchFailures } from '../policy/watch.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { lockRecord, type RecordContext } from '../../kit/records/collection.ts';
import { showerOf, type Shown } from '../../kit/records/shown.ts';
import { refuseErrors, saveChanges } from '../../kit/records/writes.ts';
import { type RenamePlan, validateRename } from './rename.ts';

/** The values of the fields of a group. */
export type GroupValues = SentOf<typeof groupFields>;

/** The schema that validates a group and describes it. */
export const groupSchema = schemaOf(groupFields, {});

/** Validates the fields of a group by themselves. */
export const validateGroup = validatorOf<GroupValues>(groupSchema);

const shownGroup = showerOf(groupFields);

/** A group as it is shown. */
export function showGroup(group: Group): Shown {
  return shownGroup(group, {});
}

/** The groups of one server. */
export class Groups {
  readonly #context: RecordContext;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /** A part of the list of groups. */
  page(wanted: GroupWish): Promise<Group[]> {
    return readGroups(this.#database, wanted);
  }

  async find(id: string): Promise<Group> {
    const group = isUuid(id) ? await this.#database.models.Group.findByPk(id.toLowerCase()) : null;
    if (group === null) throw new ApiError('not_found');
    return group;
  }

  create(caller: Caller, input: Validated<GroupValues>): Promise<Group> {
    return this.#context.writes.run(caller, {
      // All creations hold this scope, so that they cannot exceed the limit together.
      scopes: { configuration: true },
      check: (transaction) => validateNewGroup(this.#database, input, transaction),
      write: (transaction, row) =>
        this.#database.models.Group.create(row, { transaction, validate: false }),
    });
  }

  update(caller: Caller, id: string, { values, errors }: Validated<GroupValues>): Promise<Group> {
    return this.#context.writes.run(caller, {
      scopes: { configuration: true },
      check: async (transaction) => {
        const present = await lockRecord(this.#database.models.Group, id, transaction, errors);
        return planGroupChange(this.#context, present, { values, errors }, transaction);
      },
      write: (transaction, plan) => writeGroupChange(plan, transaction),
    });
  }

  /** Removes a group with its memberships and its rules. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.#context.writes.run(caller, {
      scopes: { configuration: true },
      check: (transaction) => lockRecord(this.#database.models.Group, id, transaction),
      write: (transaction, group) =>
        watchFailures(this.#context, transaction, () =>
          removeGroup(this.#database, group, transaction),
        ),
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** What is written of a new group. */
type NewGroup = Pick<Group, 'name' | 'description'>;

/** Checks a new group, and throws what refuses it; the configuration must be locked. */
export async function validateNewGroup(
  database: Database,
  { values, errors }: Validated<GroupValues>,
  transaction: Transaction,
): Promise<NewGroup> {
  const row = { ...columnDefaults(groupFields), name: '', ...columnsSent(groupFields, values) };
  const found = { ...errors };
  await validateName(database, row, null, found, transaction);
  if ((await database.models.Group.count({ transaction })) >= GROUPS_MAX)
    addError(found, 'base', { code: 'tooManyGroups', values: { most: GROUPS_MAX } });
  refuseErrors(found);
  return row;
}

/** A change of a group that may be written. */
export interface GroupChange {
  readonly present: Group;
  readonly row: Partial<NewGroup>;
  /** What becomes of entries of identity providers that mean the group by its name. */
  readonly rename: RenamePlan | null;
}

/** Checks a change of a group, and throws what refuses it; the configuration must be locked. */
export async function planGroupChange(
  context: PolicyContext,
  present: Group,
  { values, errors }: Validated<GroupValues>,
  transaction: Transaction,
): Promise<GroupChange> {
  const row = columnsSent(groupFields, values);
  const found = { ...errors };
  await validateName(context.services.database, row, present.id, found, transaction);
  const { name = present.name } = row;
  const rename = await validateRename(context, present, name, found, transaction);
  refuseErrors(found);
  return { present, row, rename };
}

/** Writes what was checked. */
export async function writeGroupChange(
  { present, row, rename }: GroupChange,
  transaction: Transaction,
): Promise<Group> {
  if (rename !== null) await saveChanges(rename.configuration, rename.lists, transaction);
  return saveChanges(present, row, transaction);
}

/** Adds the error of a name that another group has. */
async function validateName(
  { models }: Database,
  { name }: { readonly name?: string },
  id: string | null,
  errors: Errors,
  transaction: Transaction,
): Promise<void> {
  if (name === undefined || errors['name'] !== undefined) return;
  const other = await models.Group.findOne({ attributes: ['id'], where: { name }, transaction });
  if (other !== null && other.id !== id) addError(errors, 'name', messages.taken);
}

// Users: what may be sent, what is shown, and what the operations do. docs/api.md#users.

import {
  type Database,
  emailKey,
  monthOf,
  Op,
  readQuotaUsage,
  readUsers,
  removeUser,
  type Selection,
  type SentOf,
  type Transaction,
  type User,
  userFields,
  type UserRow,
} from '../../../models/index.ts';
import { newPassword, withEmailRule } from '../../auth/account-fields.ts';
import { endWait, switchedUser, switchOffError } from '../../auth/accounts.ts';
import { neededError } from '../../auth/administrators.ts';
import { looksTaken } from '../../auth/named-user.ts';
import { hashPassword } from '../../auth/passwords.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isReadableId, isUuid, text, trimmed } from '../../kit/validation/fields.ts';
import {
  addError,
  type Errors,
  hasNoErrors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import { type FieldError, messages } from '../../kit/validation/messages.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { quotaStateOf } from '../../reconcile/quota-state.ts';
import {
  type Collection,
  OBSERVED_KEEP_MS,
  type RecordContext,
} from '../../kit/records/collection.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import { columnsSent, limited, schemaOf, type SentColumn } from '../../kit/validation/resource.ts';
import { showerOf, type Shown } from '../../kit/records/shown.ts';
import { refuseErrors, saveChanges } from '../../kit/records/writes.ts';

/** The schema that validates a user and describes it. */
export const userSchema = schemaOf(userFields, {
  email: (field) => withEmailRule(limited(trimmed(field.description), field)),
  password: ({ description }) => newPassword(description),
});

/** The filters of a list of users. */
export const userFilters = {
  email: {
    schema: text('Only the user with this e-mail, in any case.'),
    select: (email: string) => (isReadableId(email) ? { emailKey: emailKey(email) } : null),
  },
};

/** The values of the fields of a user. */
export type UserValues = SentOf<typeof userFields>;

/** Validates the fields of a user, without the database. */
export const validateUser = validatorOf<UserValues>(userSchema);

/** The columns of a user that a request may write, beside those of its switch. */
export type UserChanges = Partial<Pick<User, SentColumn<typeof userFields> | 'password_hash'>>;

/** Nobody is disabled yet. */
const NEVER_DISABLED = { disabled_at: null, disabled_by: null, disabled_provider: null };

/** Validates a password that was typed twice, by the rules for a user's fields. */
export function validatePasswordFields(
  fields: Readonly<Record<'password' | 'password_confirmation', string>>,
): Validated<Pick<UserValues, 'password'>> {
  const validated = validateUser(fields, 'update');
  validateConfirmation(validated.values, validated.errors);
  return validated;
}

/** A user as it is shown who carried so many bytes this month; `byDefault`: the quota of all. */
export function showUser(user: UserRow, used: number, byDefault: number | null): Shown {
  return shownUser(user, {
    enabled: user.disabled_at === null,
    quota_used: used,
    quota_exceeded: quotaStateOf(user, byDefault, used).isUsedUp,
  });
}

/** Users as they are shown, with what they carried this month. */
export async function showUsers(
  database: Database,
  users: readonly UserRow[],
  { default_quota }: Pick<EffectiveConfiguration, 'default_quota'>,
): Promise<Shown[]> {
  const usage = await readUsage(database, users);
  return users.map((user) => showUser(user, usage.get(user.id) ?? 0, default_quota));
}

function readUsage(
  database: Database,
  users: readonly Pick<UserRow, 'id'>[],
  transaction?: Transaction,
): ReturnType<typeof readQuotaUsage> {
  const ids = users.map(({ id }) => id);
  return readQuotaUsage(database, monthOf(Date.now()), ids, transaction);
}

const shownUser = showerOf(userFields);

/** What users need of the server. */
export interface UserContext extends RecordContext {
  readonly services: RecordContext['services'] & {
    /** Cost of bcrypt; 12 where it is left out. */
    readonly passwordCost?: number;
  };
}

/** The users of one server. */
export class Users implements Collection<UserValues> {
  readonly name = 'users';
  readonly sources = [{ table: 'users' }, { table: 'configurations' }] as const;
  readonly keepMs = OBSERVED_KEEP_MS;
  readonly filters = userFilters;
  readonly validate = validateUser;
  readonly #context: UserContext;

  constructor(context: UserContext) {
    this.#context = context;
  }

  async list(selection: Selection): Promise<Shown[]> {
    return this.#show(await readUsers(this.#database, selection));
  }

  async show(id: string): Promise<Shown> {
    if (!isUuid(id)) return this.#showOne(await findUser(this.#database, id));
    const [user] = await readUsers(this.#database, { ids: [id.toLowerCase()] });
    if (user === undefined) throw new ApiError('not_found');
    return this.#showOne(user);
  }

  async create(caller: Caller, input: Validated<UserValues>): Promise<Shown> {
    const changes = await this.#changesOf(input);
    const user = await this.#context.writes.run(caller, {
      scopes: { configuration: true },
      check: async (transaction) => {
        const errors = await this.#check(input, null, caller, transaction);
        refuseErrors(errors);
        return { email: '', ...changes, ...switchOf(NEVER_DISABLED, input.values) };
      },
      write: (transaction, row) =>
        this.#database.models.User.create(row, { transaction, validate: false }),
    });
    return showUser(user, 0, null);
  }

  async update(caller: Caller, id: string, input: Validated<UserValues>): Promise<Shown> {
    const changes = await this.#changesOf(input);
    const [user, usage] = await this.#context.writes.run(caller, {
      scopes: {
        configuration:
          changes.role !== undefined ||
          changes.email !== undefined ||
          input.values.enabled === false,
      },
      check: async (transaction) => {
        const present = await findUser(this.#database, id, transaction);
        refuseErrors(await this.#check(input, present, caller, transaction));
        return present;
      },
      write: async (transaction, present) => {
        // Else the new password would be refused until the wait after wrong passwords ends.
        if (changes.password_hash !== undefined)
          await endWait(this.#database, present, transaction);
        const all = { ...changes, ...switchOf(present, input.values) };
        return Promise.all([
          saveChanges(present, all, transaction),
          readUsage(this.#database, [present], transaction),
        ]);
      },
    });
    const { default_quota } = await this.#context.recall.configuration();
    return showUser(user, usage.get(user.id) ?? 0, default_quota);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#context.writes.run(caller, {
      scopes: { configuration: true },
      check: async (transaction) => {
        const present = await findUser(this.#database, id, transaction);
        const last = messages.lastAdministratorRemains;
        const error = await this.#neededError(present, last, transaction);
        refuseErrors(error === null ? {} : { base: [error] });
        return present.id;
      },
      write: (transaction, userId) => removeUser(this.#database, userId, transaction),
    });
  }

  /** Shows the first steps of the dashboard no more to the caller. */
  async dismissFirstSteps(caller: Caller): Promise<void> {
    await this.#context.writes.run(caller, {
      check: (transaction) => findUser(this.#database, caller.userId ?? '', transaction),
      write: (transaction, user) =>
        user.update({ first_steps_dismissed_at: new Date() }, { transaction }),
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }

  async #show(users: readonly UserRow[]): Promise<Shown[]> {
    return showUsers(this.#database, users, await this.#context.recall.configuration());
  }

  async #showOne(user: UserRow): Promise<Shown> {
    const [shown = {}] = await this.#show([user]);
    return shown;
  }

  #changesOf(input: Validated<UserValues>): Promise<UserChanges> {
    return userChanges(input, this.#context.services.passwordCost);
  }

  /** All errors of the input, also those that need the database. */
  async #check(
    input: Validated<UserValues>,
    present: User | null,
    caller: Caller,
    transaction: Transaction,
  ): Promise<Errors> {
    const { role, enabled } = input.values;
    const errors = await validateEmailTaken(this.#database, input, present, transaction);
    if (present !== null && enabled === false) {
      const error = await disablingError(this.#context, present, caller, transaction);
      if (error !== null) addError(errors, 'enabled', error);
    }
    if (present === null || role === undefined || role === present.role) return errors;
    const error =
      present.id === caller.userId
        ? messages.ownRole
        : await this.#neededError(present, messages.lastAdministratorStays, transaction);
    if (error !== null) addError(errors, 'role', error);
    return errors;
  }

  #neededError(user: User, last: FieldError, transaction: Transaction): Promise<FieldError | null> {
    return neededError(this.#database, user, { last, fixed: this.#context.fixed }, transaction);
  }
}

/** The user that a path names, by UUID or e-mail address; locked if in a transaction. */
export async function findUser(
  { models }: Database,
  id: string,
  transaction?: Transaction,
): Promise<User> {
  const where = isUuid(id) ? { id: id.toLowerCase() } : { email_key: emailKey(id) };
  const options = transaction === undefined ? {} : { transaction, lock: true };
  const user = isReadableId(id) ? await models.User.findOne({ where, ...options }) : null;
  if (user === null) throw new ApiError('not_found');
  return user;
}

/** What an administrator's switch writes; nothing where it is not sent. */
function switchOf(
  user: Parameters<typeof switchedUser>[0],
  { enabled }: UserValues,
): Partial<ReturnType<typeof switchedUser>> {
  return enabled === undefined ? {} : switchedUser(user, enabled);
}

/**
 * Why a user cannot be disabled; null where that can be. The scope of the configuration must be
 * locked.
 */
export async function disablingError(
  { services: { database }, fixed }: Pick<RecordContext, 'services' | 'fixed'>,
  user: User,
  caller: Caller,
  transaction: Transaction,
): Promise<FieldError | null> {
  if (user.id === caller.userId) return messages.ownSwitch;
  return switchOffError(database, user, fixed, transaction);
}

/** The values to write. Hashing the password is slow, so this runs before the transaction. */
export async function userChanges(
  { values, errors }: Validated<UserValues>,
  passwordCost?: number,
): Promise<UserChanges> {
  validateConfirmation(values, errors);
  const { password } = values;
  const isHashed = typeof password === 'string' && hasNoErrors(errors);
  return {
    ...columnsSent(userFields, values),
    ...(isHashed ? { password_hash: await hashPassword(password, passwordCost) } : {}),
  };
}

/**
 * The errors of the input, and the error if another user has the e-mail address, or one that looks
 * like it. The configuration must be locked.
 */
export async function validateEmailTaken(
  database: Database,
  { values: { email }, errors: present }: Validated<UserValues>,
  user: User | null,
  transaction: Transaction,
): Promise<Errors> {
  // The errors are copied, because the transaction may run again with another state.
  const errors = { ...present };
  if (email === undefined) return errors;
  const except = user === null ? {} : { id: { [Op.ne]: user.id } };
  const where = { email_key: emailKey(email), ...except };
  const options = { attributes: ['id'], where, transaction };
  const [other, looks] = await Promise.all([
    database.models.User.findOne(options),
    looksTaken(database, email, user, transaction),
  ]);
  if (other !== null) addError(errors, 'email', messages.taken);
  else if (looks) addError(errors, 'email', messages.looksTaken);
  return errors;
}

/** Adds the error if password and confirmation differ; a confirmation alone is ignored. */
function validateConfirmation(values: UserValues, errors: Errors): void {
  const { password, password_confirmation: confirmation } = values;
  if (typeof password !== 'string') {
    delete errors['password_confirmation'];
    return;
  }
  if (errors['password_confirmation'] !== undefined) return;
  if (confirmation === undefined || confirmation === null)
    addError(errors, 'password_confirmation', messages.blank);
  else if (confirmation !== password) addError(errors, 'password_confirmation', messages.noMatch);
}

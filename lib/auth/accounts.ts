// What the first start and the command line do to accounts: make an administrator, disable a user,
// enable a user. A user whom an administrator disabled is not enabled by an identity provider.
// docs/api.md#disabled-users.

import {
  type Database,
  ENABLED,
  lockScopes,
  noteAction,
  Op,
  type Transaction,
  type User,
  writeTransaction,
} from '../../models/index.ts';
import type { Validated } from '../kit/validation/validate.ts';
import { type FieldError, messages } from '../kit/validation/messages.ts';
import type { Caller } from '../kit/process/caller.ts';
import { lockRecord, type RecordContext } from '../kit/records/collection.ts';
import type { FixedSettings } from '../kit/records/effective-configuration.ts';
import { refuseErrors } from '../kit/records/writes.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import type { AdministratorValues, MadeAdministrator } from './account-fields.ts';
import { neededError } from './administrators.ts';
import { countedOf, forgetAttempts } from './attempts.ts';
import { isEmail } from './email.ts';
import { findByEmail, looksTaken } from './named-user.ts';
import {
  DEFAULT_COST,
  hashPassword,
  PASSWORD_BYTES_MAX,
  PASSWORD_CHARACTERS_MAX,
  PASSWORD_CHARACTERS_MIN,
  passwordBytes,
} from './passwords.ts';
import { resetSecondFactors } from './second-factors.ts';

/** The e-mail address and the password of a new administrator. */
export interface Administrator {
  readonly email: string;
  readonly password: string;
}

async function reopenLocal(database: Database, transaction: Transaction): Promise<boolean> {
  const { Configuration } = database.models;
  const configuration = await Configuration.findOne({ transaction, lock: true });
  if (configuration === null || configuration.local_auth_enabled) return false;
  await configuration.update({ local_auth_enabled: true }, { transaction });
  return true;
}

/**
 * Makes the administrator if there is none; true if it did. There may be users from an import. If
 * several gateways start with one empty database, only one of them makes the administrator.
 */
export async function makeFirstUser(
  database: Database,
  administrator: Administrator,
  cost = DEFAULT_COST,
): Promise<boolean> {
  const { User } = database.models;
  const where = { role: 'admin' } as const;
  if ((await User.count({ where })) > 0) return false;
  const unfit = unfitAdministrator(administrator);
  if (unfit !== null) throw unfit;
  const values = await administratorValues(administrator, cost);
  const { result } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    if ((await User.count({ where, transaction })) > 0) return false;
    // A setting must not make an administrator of a user who exists, nor of somebody who looks so.
    if ((await findByEmail(database, administrator.email, transaction)) !== null) return false;
    if (await looksTaken(database, values.email, null, transaction)) return false;
    await User.create(values, { transaction });
    return true;
  });
  return result;
}

type NewAdministrator = Awaited<ReturnType<typeof administratorValues>>;

async function administratorValues({ email, password }: Administrator, cost: number) {
  const password_hash = await hashPassword(password, cost);
  return {
    email: email.trim(),
    role: 'admin',
    // Whoever is at the host makes one for good.
    role_provider: null,
    password_hash,
    ...ENABLED,
  } as const;
}

/** What accounts need of the server. */
export interface AccountContext extends Pick<RecordContext, 'writes'> {
  readonly services: RecordContext['services'] & {
    /** Cost of bcrypt; 12 where it is left out. */
    readonly passwordCost?: number;
  };
}

/** What administrators do to the accounts of others, beside what the records of users hold. */
export class Accounts {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /**
   * Makes an enabled administrator with this password; a user who has the e-mail address becomes
   * the administrator. Signing in by password is switched on, because the password would be of no
   * use without it, and providers may be out of order.
   */
  async ensureAdministrator(
    caller: Caller,
    { values: sent, errors }: Validated<AdministratorValues>,
  ): Promise<MadeAdministrator> {
    refuseErrors(errors);
    const { email = '', password = '', remove_second_factors: resetFactors = false } = sent;
    const { passwordCost = DEFAULT_COST } = this.#context.services;
    const values = await administratorValues({ email, password }, passwordCost);
    return this.#context.writes.run(caller, {
      scopes: { configuration: true },
      check: async (transaction) => {
        const user = await findByEmail(this.#database, email, transaction);
        if (user === null && (await looksTaken(this.#database, values.email, null, transaction)))
          refuseErrors({ email: [messages.looksTaken] });
        return user;
      },
      write: async (transaction, user) => {
        const isReopened = await reopenLocal(this.#database, transaction);
        const { id } =
          user === null
            ? await this.#database.models.User.create(values, { transaction })
            : await this.#promote(user, { values, resetFactors }, transaction);
        return { user_id: id, password_sign_in_reopened: isReopened };
      },
    });
  }

  async #promote(
    user: User,
    { values, resetFactors }: { values: NewAdministrator; resetFactors: boolean },
    transaction: Transaction,
  ): Promise<User> {
    if (resetFactors) await resetSecondFactors(this.#database, user.id, transaction);
    // A person at the host must get in at once, even if somebody else guessed passwords before.
    await endWait(this.#database, user, transaction);
    return user.update({ ...values, email: user.email }, { transaction });
  }

  /** Lets a user sign in at once, although many wrong passwords or codes were typed. */
  async unlock(caller: Caller, userId: string): Promise<void> {
    await this.#context.writes.run(caller, {
      check: (transaction) => lockRecord(this.#database.models.User, userId, transaction),
      write: (transaction, user) => endWait(this.#database, user, transaction),
    });
  }

  /**
   * Removes the second factors of a user, and ends their sessions; returns how many authenticators
   * they were.
   */
  removeSecondFactors(caller: Caller, userId: string): Promise<number> {
    return this.#context.writes.run(caller, {
      check: (transaction) => lockRecord(this.#database.models.User, userId, transaction),
      write: async (transaction, { id }) => {
        await forgetAttempts(this.#database, [{ kind: 'code', subject: id }], id, transaction);
        return resetSecondFactors(this.#database, id, transaction);
      },
    });
  }

  /** Ends one session of a user, or all of them; returns how many ended. */
  endSessions(caller: Caller, userId: string, ending: EndingSessions): Promise<number> {
    return this.#context.writes.run(caller, {
      check: (transaction) => lockRecord(this.#database.models.User, userId, transaction),
      write: (transaction, user) => endSessions(this.#database, user.id, ending, transaction),
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** Which sessions of a user end: one, all but one, or all. */
export interface EndingSessions {
  readonly id?: string;
  readonly except?: string;
}

/** Ends sessions of a user, and notes in the audit trail how many; returns how many ended. */
export async function endSessions(
  database: Database,
  userId: string,
  { id, except }: EndingSessions,
  transaction: Transaction,
): Promise<number> {
  const which = id ?? (except === undefined ? undefined : { [Op.ne]: except });
  const where = { user_id: userId, ...(which === undefined ? {} : { id: which }) };
  const ended = await database.models.Session.destroy({ where, transaction });
  const entry = { action: 'sign out', kind: 'user', recordId: userId } as const;
  if (ended > 0) noteAction(transaction, { ...entry, changes: { sessions: { to: ended } } });
  return ended;
}

/** Lets a user sign in at once, although many wrong passwords or codes were typed. */
export async function endWait(
  database: Database,
  user: Pick<User, 'id' | 'email'>,
  transaction: Transaction,
): Promise<void> {
  await forgetAttempts(database, countedOf(user), user.id, transaction);
}

/**
 * The message where a user cannot be disabled, because nobody else could administer; else null. The
 * scope of the configuration must be locked.
 */
export async function switchOffError(
  database: Database,
  user: User,
  fixed: FixedSettings,
  transaction: Transaction,
): Promise<FieldError | null> {
  if (user.disabled_at !== null) return null;
  const last = messages.lastAdministratorServes;
  return neededError(database, user, { last, fixed }, transaction);
}

/**
 * What is written when an administrator enables or disables a user. It replaces what a provider
 * did; a user who is disabled already keeps the earlier time.
 */
export function switchedUser(
  user: Pick<User, 'disabled_at' | 'disabled_by' | 'disabled_provider'>,
  isEnabled: boolean,
): Pick<User, 'disabled_at' | 'disabled_by' | 'disabled_provider'> {
  if (isEnabled) return ENABLED;
  return {
    disabled_at: user.disabled_at ?? new Date(),
    disabled_by: 'administrator',
    disabled_provider: null,
  };
}

/** Why no administrator can have this e-mail address or password; null: they are possible. */
export function unfitAdministrator({ email, password }: Administrator): Error | null {
  if (!isEmail(email.trim())) return new UsageError(`${email} is no e-mail address`);
  const characters = Array.from(password).length;
  if (characters < PASSWORD_CHARACTERS_MIN || characters > PASSWORD_CHARACTERS_MAX)
    return new Error(
      `a password has ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters, ` +
        `this one has ${characters}`,
    );
  return passwordBytes(password) > PASSWORD_BYTES_MAX
    ? new Error(`a password has at most ${PASSWORD_BYTES_MAX} bytes in UTF-8`)
    : null;
}

// What the first start and the command line do to accounts: make an administrator, disable a user,
// enable a user. A user whom an administrator disabled is not enabled by an identity provider.
// docs/api.md#disabled-users.

import {
  type Database,
  ENABLED,
  lockScopes,
  type Transaction,
  type User,
  writeTransaction,
} from '../../models/index.ts';
import { type FieldError, messages, sentences } from '../kit/validation/messages.ts';
import type { Caller } from '../kit/process/caller.ts';
import { lockRecord, type RecordContext } from '../kit/records/collection.ts';
import type { FixedSettings } from '../kit/records/effective-configuration.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { neededFault } from './administrators.ts';
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

/** The administrator that was made. */
export interface EnsuredAdministrator {
  readonly id: string;
  /** Whether signing in by password was switched off, and is on again. */
  readonly isLocalReopened: boolean;
}

/**
 * Makes an enabled administrator with this password; a user who has the e-mail address becomes the
 * administrator. `resetFactors` removes their second factors. Signing in by password is switched
 * on, because the password would be of no use without it, and providers may be out of order.
 * Throws a sentence for a person if the e-mail address or the password is not possible.
 */
export async function ensureAdministrator(
  database: Database,
  administrator: Administrator,
  { cost = DEFAULT_COST, resetFactors = false } = {},
): Promise<EnsuredAdministrator> {
  const values = await administratorValues(administrator, cost);
  const { result } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const isLocalReopened = await reopenLocal(database, transaction);
    const user = await findByEmail(database, administrator.email, transaction);
    if (user === null) {
      if (await looksTaken(database, values.email, null, transaction))
        throw new Error(
          `${values.email} ${sentences.looksTaken}; give another address, or exactly that of the other user`,
        );
      const { id } = await database.models.User.create(values, { transaction });
      return { id, isLocalReopened };
    }
    if (resetFactors) await resetSecondFactors(database, user.id, transaction);
    // A person at the host must get in at once, even if somebody else guessed passwords before.
    await endWait(database, user, transaction);
    await user.update({ ...values, email: user.email }, { transaction });
    return { id: user.id, isLocalReopened };
  });
  return result;
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

async function administratorValues({ email, password }: Administrator, cost: number) {
  refuseUnfit(email, password);
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

/** What administrators do to the accounts of others, beside what the records of users hold. */
export class Accounts {
  readonly #context: Pick<RecordContext, 'services' | 'writes'>;

  constructor(context: Pick<RecordContext, 'services' | 'writes'>) {
    this.#context = context;
  }

  /** Lets a user sign in at once, although many wrong passwords or codes were typed. */
  async unlock(caller: Caller, userId: string): Promise<void> {
    await this.#context.writes.run(caller, {
      judge: (transaction) => lockRecord(this.#database.models.User, userId, transaction),
      write: (transaction, user) => endWait(this.#database, user, transaction),
    });
  }

  /**
   * Removes the second factors of a user, and ends their sessions; returns how many authenticators
   * they were.
   */
  removeSecondFactors(caller: Caller, userId: string): Promise<number> {
    return this.#context.writes.run(caller, {
      judge: (transaction) => lockRecord(this.#database.models.User, userId, transaction),
      write: async (transaction, { id }) => {
        await forgetAttempts(this.#database, [{ kind: 'code', subject: id }], id, transaction);
        return resetSecondFactors(this.#database, id, transaction);
      },
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
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
export async function switchOffFault(
  database: Database,
  user: User,
  fixed: FixedSettings,
  transaction: Transaction,
): Promise<FieldError | null> {
  if (user.disabled_at !== null) return null;
  const last = messages.lastAdministratorServes;
  return neededFault(database, user, { last, fixed }, transaction);
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

function refuseUnfit(email: string, password: string): void {
  if (!isEmail(email.trim())) throw new UsageError(`${email} is no e-mail address`);
  const characters = Array.from(password).length;
  if (characters < PASSWORD_CHARACTERS_MIN || characters > PASSWORD_CHARACTERS_MAX)
    throw new Error(
      `a password has ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters, ` +
        `this one has ${characters}`,
    );
  if (passwordBytes(password) > PASSWORD_BYTES_MAX)
    throw new Error(`a password has at most ${PASSWORD_BYTES_MAX} bytes in UTF-8`);
}

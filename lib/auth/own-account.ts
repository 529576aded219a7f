// What people do with their own account: another password, second factors, the end of sessions.
// Another password and other second factors sign the user out everywhere; the browser that asked
// for them goes on with a new session. docs/api.md#sign-in.

import type { Transaction, User } from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import type { Caller } from '../kit/process/caller.ts';
import type { Shared } from '../kit/process/shared.ts';
import { type RunsWrites, saveChanges } from '../kit/records/writes.ts';
import { endSessions } from './accounts.ts';
import { type Counted, forgiveAttempt } from './attempts.ts';
import {
  addSecondFactor,
  hasSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from './second-factors.ts';
import type { SpendsCode } from './try-code.ts';

/** What changes of the own account need of the server. */
export interface OwnAccountContext {
  readonly services: Pick<Shared, 'database'>;
  readonly writes: RunsWrites;
}

/** Begins the session with which the browser goes on; returns its secret. */
export type BeginsSession = (user: User, transaction: Transaction) => Promise<string>;

/** A change of second factors, and the secret of the session that goes on. */
export interface ChangedFactors<Result> {
  readonly result: Result;
  readonly secret: string;
}

/** How second factors are changed: a code is spent, and another session begins. */
export interface FactorChange {
  readonly spend: SpendsCode;
  readonly begin: BeginsSession;
}

/** An authenticator of which a code was shown. */
export interface ProvenFactor {
  readonly name: string;
  readonly secret: string;
  readonly step: number;
}

/** The accounts of one server, each for the person who has it. */
export class OwnAccounts {
  readonly #context: OwnAccountContext;

  constructor(context: OwnAccountContext) {
    this.#context = context;
  }

  /** Takes back an attempt that was good. */
  async forgive(caller: Caller, counted: readonly Counted[]): Promise<void> {
    await this.#context.writes.run(caller, {
      check: async () => null,
      write: (transaction) => forgiveAttempt(this.#database, counted, transaction),
    });
  }

  /** Sets a password in place of the one that was compared; returns the secret of a new session. */
  changePassword(
    caller: Caller,
    compared: string | null,
    password_hash: string,
    begin: BeginsSession,
  ): Promise<string> {
    return this.#context.writes.run(caller, {
      check: async (transaction) => {
        const lock = { transaction, lock: true };
        const user = await this.#database.models.User.findByPk(caller.userId ?? '', lock);
        // Somebody else changed it since it was compared.
        if (user === null || user.password_hash !== compared) throw new ApiError('stale_form');
        return user;
      },
      write: async (transaction, user) => {
        // Ends every session, this browser's too, which then gets another one.
        await saveChanges(user, { password_hash }, transaction);
        return begin(user, transaction);
      },
    });
  }

  /** Ends one session, or all but the one that asks; returns how many ended. */
  endSessions(caller: Caller, id: string | null): Promise<number> {
    const userId = caller.userId ?? '';
    const ending = id === null ? { except: caller.letIn?.sessionId ?? '' } : { id };
    return this.#context.writes.run(caller, {
      check: async () => null,
      write: (transaction) => endSessions(this.#database, userId, ending, transaction),
    });
  }

  /**
   * Adds a second factor; who already has one must also show a code of it. A word says why it is
   * not added.
   */
  async addSecondFactor(
    caller: Caller,
    factor: ProvenFactor,
    { spend, begin }: FactorChange,
  ): Promise<ChangedFactors<{ recoveryCodes: readonly string[] }> | 'bad code' | 'too many'> {
    let why: 'bad code' | 'too many' = 'bad code';
    const changed = await this.#changeFactors(caller, begin, async (user, transaction) => {
      why = 'bad code';
      const isAsked = await hasSecondFactor(this.#database, user.id, transaction);
      if (isAsked && !(await spend(user.id, transaction))) return null;
      why = 'too many';
      return addSecondFactor(this.#database, { ...factor, userId: user.id }, transaction);
    });
    return changed ?? why;
  }

  /** Removes a second factor, if a code is good; `result`: whether there was such a factor. */
  removeSecondFactor(
    caller: Caller,
    id: string,
    { spend, begin }: FactorChange,
  ): Promise<ChangedFactors<boolean> | null> {
    return this.#changeFactors(caller, begin, async (user, transaction) =>
      (await spend(user.id, transaction))
        ? removeSecondFactor(this.#database, user.id, id, transaction)
        : null,
    );
  }

  /** Makes other recovery codes, if a code is good. */
  renewRecoveryCodes(
    caller: Caller,
    { spend, begin }: FactorChange,
  ): Promise<ChangedFactors<readonly string[]> | null> {
    return this.#changeFactors(caller, begin, async (user, transaction) =>
      (await spend(user.id, transaction))
        ? renewRecoveryCodes(this.#database, user.id, transaction)
        : null,
    );
  }

  get #database(): Shared['database'] {
    return this.#context.services.database;
  }

  /** Runs `write`. If its result is not null, it changed something: sessions end, one begins. */
  #changeFactors<Result>(
    caller: Caller,
    begin: BeginsSession,
    write: (user: User, transaction: Transaction) => Promise<Result | null>,
  ): Promise<ChangedFactors<Result> | null> {
    const { models } = this.#database;
    return this.#context.writes.run(caller, {
      check: async (transaction) => {
        const user = await models.User.findByPk(caller.userId ?? '', { transaction, lock: true });
        if (user === null) throw new ApiError('not_found');
        // A session that ended after the request came (by a new password, say) must begin no other.
        const where = { id: caller.letIn?.sessionId ?? '' };
        if ((await models.Session.count({ where, transaction })) === 0)
          throw new ApiError('stale_form');
        return user;
      },
      write: async (transaction, user) => {
        const result = await write(user, transaction);
        if (result === null) return null;
        await models.Session.destroy({ where: { user_id: user.id }, transaction });
        return { result, secret: await begin(user, transaction) };
      },
    });
  }
}

// API tokens as programs make, list and revoke them. A token is shown once, when it is made. It is
// our own addition to the API. docs/api.md#api-tokens.

import type { Database } from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import {
  integer,
  isUuid,
  joi,
  mark,
  recordId,
  resource,
  text,
  timestamp,
  trimmed,
} from '../kit/validation/fields.ts';
import { type Validated, validatorOf } from '../kit/validation/validate.ts';
import { messages } from '../kit/validation/messages.ts';
import { DEFAULT_SCOPES, isScope, type Scope, SCOPES } from '../kit/operations/scopes.ts';
import type { Caller } from '../kit/process/caller.ts';
import { lockRecord, type RecordContext } from '../kit/records/collection.ts';
import { type Shown, showTime, showTimeOrNull } from '../kit/records/shown.ts';
import { refuseErrors } from '../kit/records/writes.ts';
import {
  DAYS_MAX,
  DEFAULT_DAYS,
  makeToken,
  makeTokenFor,
  NAME_CHARACTERS_MAX,
  type OwnedToken,
  readTokenPage,
  readTokens,
} from './tokens.ts';

/** The fields of a token, as they are sent and answered. */
export const apiTokenFields = resource({
  id: recordId('Names the token.'),
  user_id: recordId('Whose rights it has.'),
  email: mark(text('The e-mail of that user.'), { readOnly: true }),
  name: trimmed('What it is for.').atMost(NAME_CHARACTERS_MAX).required(),
  scopes: mark(
    joi
      .array()
      .custom((sent: unknown[], helpers) =>
        sent.length > 0 && sent.every(isScope) ? sent : helpers.error('scopes.bad'),
      )
      .default(DEFAULT_SCOPES)
      .description('What it can be used for; `admin` includes the others.'),
    { unreadable: messages.badScopes, json: { items: { enum: SCOPES }, minItems: 1 } },
  ),
  days: mark(
    integer(
      'For how many days it is good; not longer than the token that makes it.',
      1,
      DAYS_MAX,
    ).default(DEFAULT_DAYS),
    { writeOnly: true },
  ),
  expires_at: timestamp('When it ends; null: it has no end.').allow(null),
  last_used_at: timestamp('When it was used last; null: never.').allow(null),
  inserted_at: timestamp('When it was made.'),
});

/** What is answered of a token that was just made. */
export const madeTokenFields = apiTokenFields.keys({
  token: mark(text('The token itself. It is shown here only.'), { readOnly: true }),
});

/** What is sent of a token. */
export interface ApiTokenValues {
  readonly name?: string;
  readonly days?: number;
  readonly scopes?: readonly Scope[];
}

/** Validates a token that is to be made. */
export const validateApiToken = validatorOf<ApiTokenValues>(apiTokenFields);

/** The API tokens of one server. */
export class ApiTokens {
  readonly #context: RecordContext;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /** A part of the list, of one user or of all. */
  async page(wanted: Parameters<typeof readTokenPage>[1]): Promise<Shown[]> {
    return (await readTokenPage(this.#database, wanted)).map(show);
  }

  async show(id: string): Promise<Shown> {
    const ids = [id.toLowerCase()];
    const [token] = isUuid(id) ? await readTokens(this.#database, { ids }) : [];
    if (token === undefined) throw new ApiError('not_found');
    return show(token);
  }

  /** Makes a token for the caller. */
  async make(
    caller: Caller,
    {
      values: { name = '', days = DEFAULT_DAYS, scopes = DEFAULT_SCOPES },
      errors,
    }: Validated<ApiTokenValues>,
  ): Promise<Shown> {
    refuseErrors(errors);
    const { id, token } = await makeToken(this.#context, caller, { name, days, scopes });
    return { ...(await this.show(id)), token };
  }

  /** Makes a token for a user who did not ask for it. */
  async makeFor(
    caller: Caller,
    userId: string,
    { values, errors }: Validated<ApiTokenValues>,
  ): Promise<Shown> {
    refuseErrors(errors);
    const { name = '', ...wish } = values;
    const { id, token } = await makeTokenFor(this.#context, caller, userId, { ...wish, name });
    return { ...(await this.show(id)), token };
  }

  async revoke(caller: Caller, id: string): Promise<void> {
    const { ApiToken } = this.#database.models;
    await this.#context.writes.run(caller, {
      check: (transaction) => lockRecord(ApiToken, id, transaction),
      write: (transaction, token) => token.destroy({ transaction }),
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

function show({ expires_at, last_used_at, inserted_at, ...token }: OwnedToken): Shown {
  return {
    ...token,
    expires_at: showTimeOrNull(expires_at),
    last_used_at: showTimeOrNull(last_used_at),
    inserted_at: showTime(inserted_at),
  };
}

// `/v0/api_tokens`: lists, makes and revokes API tokens. A token is shown once, when it is made. It
// is our own addition to the API. docs/api.md#api-tokens.

import type { Request, ServerRoute } from '@hapi/hapi';
import {
  DAYS_MAX,
  DEFAULT_DAYS,
  makeToken,
  NAME_CHARACTERS_MAX,
  type OwnedToken,
  readTokenPage,
  readTokens,
} from '../../auth/tokens.ts';
import { DEFAULT_SCOPES, isScope, type Scope, SCOPES } from '../../operations/scopes.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/request-caller.ts';
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
} from '../../judge/fields.ts';
import { type Judged, judgeOf } from '../../judge/judge.ts';
import { messages } from '../../judge/messages.ts';
import { lockRecord } from '../../records/collection.ts';
import { type Shown, showTime, showTimeOrNull } from '../../records/shown.ts';
import { refuseFaults } from '../../records/writes.ts';
import { ignoresBody, judgedBody, takesBody } from '../body.ts';
import { type AskedPage, idPageFields } from '../../operations/id-pages.ts';
import { answerIdPage, readIdPage } from '../id-pages.ts';
import { type ApiContext, outsidePath, route } from '../routes.ts';

const PATH = '/v0/api_tokens';

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

/** Parameters of the list. */
export const apiTokenParameters = resource({
  user_id: text('Only tokens of this user.'),
  ...idPageFields,
});

interface Values {
  name?: string;
  days?: number;
  scopes?: Scope[];
}

const judge = judgeOf<Values>(apiTokenFields);
const judgeAsked = judgeOf<AskedPage & { readonly user_id?: string }>(apiTokenParameters);

/** The routes. */
export function apiTokenRoutes(context: ApiContext): ServerRoute[] {
  const { services } = context;
  const { database } = services;
  const one = `${PATH}/{id}`;
  const creates = takesBody({ wrapper: 'api_token', judge, mode: 'create' });
  return [
    route('GET', PATH, {}, async ({ url }, h) => {
      const { values, limit, sent } = readIdPage(url.search, judgeAsked);
      const { cursor: afterId = null, user_id: userId = null } = values;
      if (userId !== null && !isUuid(userId)) return { data: [] };
      const wanted = { afterId, userId: userId?.toLowerCase() ?? null, limit: limit + 1 };
      const found = await readTokenPage(database, wanted);
      return answerIdPage(h, services, { path: PATH, sent, limit }, { found, show });
    }),
    route('POST', PATH, creates, async (request, h) => {
      const shown = await make(context, request, judgedBody<Values>(request));
      const location = `${outsidePath(services)}${PATH}/${String(shown['id'])}`;
      return h.response({ data: shown }).created(location);
    }),
    route('GET', one, {}, async (request) => ({ data: await find(context, idOf(request)) })),
    route('DELETE', one, ignoresBody, async (request, h) => {
      await revoke(context, request);
      return h.response().code(204);
    }),
  ];
}

async function make(
  context: ApiContext,
  request: Request,
  {
    values: { name = '', days = DEFAULT_DAYS, scopes = [...DEFAULT_SCOPES] },
    faults,
  }: Judged<Values>,
): Promise<Shown> {
  refuseFaults(faults);
  const { id, token } = await makeToken(context, callerOf(request), { name, days, scopes });
  return { ...(await find(context, id)), token };
}

async function revoke(
  { services: { database }, writes }: ApiContext,
  request: Request,
): Promise<void> {
  const id = idOf(request);
  const { ApiToken } = database.models;
  await writes.run(callerOf(request), {
    judge: (transaction) => lockRecord(ApiToken, id, transaction),
    write: (transaction, token) => token.destroy({ transaction }),
  });
}

async function find({ services: { database } }: ApiContext, id: string): Promise<Shown> {
  const [token] = isUuid(id) ? await readTokens(database, { ids: [id] }) : [];
  if (token === undefined) throw new ApiError('not_found');
  return show(token);
}

function show({ expires_at, last_used_at, inserted_at, ...token }: OwnedToken): Shown {
  return {
    ...token,
    expires_at: showTimeOrNull(expires_at),
    last_used_at: showTimeOrNull(last_used_at),
    inserted_at: showTime(inserted_at),
  };
}

function idOf(request: Request): string {
  return String(request.params['id']).toLowerCase();
}

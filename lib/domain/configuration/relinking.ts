// Frees the links of people who come under another name than before, because their provider's
// issuer or NameID format changed, so that they are linked again. This is an addition to Firezone's
// API. The reasons are in lib/auth/decisions/2026-11-23-relinking.md.

import type { LinksWanted } from '../../../models/index.ts';
import { relinkWork } from '../../auth/identity/relink.ts';
import { ApiError } from '../../kit/http/errors.ts';
import {
  flag,
  integer,
  mark,
  reference,
  resource,
  timestamp,
} from '../../kit/validation/fields.ts';
import { addError, type Validated, validatorOf } from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import { type Shown, showTime } from '../../kit/records/shown.ts';
import { refuseErrors } from '../../kit/records/writes.ts';
import type { NamedEntry } from './trusted-providers.ts';

const PEOPLE_MAX = 2 ** 31 - 1;

/** What is sent and answered. */
export const relinkFields = resource({
  user_id: reference(
    'The user to be linked anew; either this or `everyone`. Administrators are refused.',
  ).allow(null),
  everyone: flag('True for everybody who is linked through the entry, but administrators.'),
  users: mark(integer('How many users may be linked anew.', 0, PEOPLE_MAX), { readOnly: true }),
  administrators: mark(
    integer('How many administrators are linked through the entry, and stay so.', 0, PEOPLE_MAX),
    { readOnly: true },
  ),
  until: timestamp(
    'Until then the next sign-in with the e-mail of such a user links them anew, once.',
  ),
});

/** What is sent. */
export interface RelinkValues {
  readonly user_id?: string | null;
  readonly everyone?: boolean;
}

/** Validates it. */
export const validateRelink = validatorOf<RelinkValues>(relinkFields);

/** Frees the links of users of an entry. */
export async function relink(
  context: RecordContext,
  caller: Caller,
  named: NamedEntry,
  { values, errors }: Validated<RelinkValues>,
): Promise<Shown> {
  const { user_id: userId = null, everyone = false } = values;
  // An empty variable of a script must not mean everybody.
  if (userId === null && !everyone) addError(errors, 'user_id', messages.blank);
  if (userId !== null && everyone) addError(errors, 'everyone', messages.notPresent);
  const work = relinkWork(context.services.database, async () => {
    refuseErrors(errors);
    return { ...(await findEntry(context, named)), userId };
  });
  const { users, administrators, until } = await context.writes.run(caller, work);
  return { user_id: userId, everyone, users, administrators, until: showTime(until) };
}

async function findEntry(
  { recall }: RecordContext,
  { kind, id }: NamedEntry,
): Promise<Pick<LinksWanted, 'kind' | 'provider_id'>> {
  await recall.refresh();
  const { openid_connect_providers: oidc, saml_identity_providers: saml } =
    await recall.configuration();
  if (kind !== 'oidc' && kind !== 'saml') throw new ApiError('not_found');
  const entry = { oidc, saml }[kind].find((one) => one.id === id);
  if (entry === undefined) throw new ApiError('not_found');
  return { kind, provider_id: entry.id };
}

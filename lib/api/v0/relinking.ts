// Linking people anew who come under another name than before, because their provider's issuer or
// NameID format changed: `PUT /v0/trusted_providers/{kind}/{id}/relink`. An addition of ours. What
// it means is decided in lib/auth/decisions/2026-11-23-relinking.md.

import type { Request, ServerRoute } from '@hapi/hapi';
import type { LinksWanted } from '../../../models/index.ts';
import { relinkWork } from '../../auth/identity/relink.ts';
import { callerOf } from '../../http/request-caller.ts';
import { judgedBody, takesBody } from '../body.ts';
import { ApiError } from '../../http/errors.ts';
import { flag, integer, mark, reference, resource, timestamp } from '../../judge/fields.ts';
import { addFault, type Judged, judgeOf } from '../../judge/judge.ts';
import { messages } from '../../judge/messages.ts';
import { type Shown, showTime } from '../../records/shown.ts';
import { type ApiContext, route } from '../routes.ts';
import { refuseFaults } from '../../records/writes.ts';

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

interface Values {
  user_id?: string | null;
  everyone?: boolean;
}

const judge = judgeOf<Values>(relinkFields);

/** The route. */
export function relinkRoutes(context: ApiContext): ServerRoute[] {
  const body = takesBody({ wrapper: 'relink', judge, mode: 'update' });
  return [
    route(['PATCH', 'PUT'], '/v0/trusted_providers/{kind}/{id}/relink', body, async (request) => ({
      data: await relink(context, request, judgedBody(request)),
    })),
  ];
}

async function relink(
  context: ApiContext,
  request: Request,
  { values, faults }: Judged<Values>,
): Promise<Shown> {
  const { user_id: userId = null, everyone = false } = values;
  // An empty variable of a script must not mean everybody.
  if (userId === null && !everyone) addFault(faults, 'user_id', messages.blank);
  if (userId !== null && everyone) addFault(faults, 'everyone', messages.notPresent);
  const work = relinkWork(context.services.database, async () => {
    refuseFaults(faults);
    return { ...(await findEntry(context, request)), userId };
  });
  const { users, administrators, until } = await context.writes.run(callerOf(request), work);
  return { user_id: userId, everyone, users, administrators, until: showTime(until) };
}

async function findEntry(
  { recall }: ApiContext,
  request: Request,
): Promise<Pick<LinksWanted, 'kind' | 'provider_id'>> {
  await recall.refresh();
  const { openid_connect_providers: oidc, saml_identity_providers: saml } =
    await recall.configuration();
  const { kind, id } = request.params as Record<string, unknown>;
  if (kind !== 'oidc' && kind !== 'saml') throw new ApiError('not_found');
  const entry = { oidc, saml }[kind].find((one) => one.id === id);
  if (entry === undefined) throw new ApiError('not_found');
  return { kind, provider_id: entry.id };
}

// Which identity providers are trusted with e-mail addresses. `GET /v0/trusted_providers` lists the
// entries with their marks; `PATCH` and `PUT` on one of them set or remove its mark. It is our own
// addition to the API, apart from the configuration, whose entries older clients know.

import type { Request, ServerRoute } from '@hapi/hapi';
import { type Authority, isTrusted, markTrusted } from '../../../models/index.ts';
import { type EntryAuthority, authoritiesOf } from '../../auth/identity/authority.ts';
import { callerOf } from '../../http/request-caller.ts';
import { judgedBody, takesBody } from '../body.ts';
import { ApiError } from '../../http/errors.ts';
import { choice, flag, mark, resource, text } from '../../judge/fields.ts';
import { type Judged, judgeOf } from '../../judge/judge.ts';
import type { Shown } from '../../records/shown.ts';
import { type ApiContext, route } from '../routes.ts';
import { refuseFaults } from '../../records/writes.ts';

/** The mark of an entry, as it is answered. */
export const trustedProviderFields = resource({
  kind: mark(choice('Which list of the configuration it is in.', 'oidc', 'saml'), {
    readOnly: true,
  }),
  id: mark(text('The id of the entry.'), { readOnly: true }),
  label: mark(text('Text of the sign-in button.'), { readOnly: true }),
  trusted: flag(
    'Whether an e-mail address of it alone links an account to an administrator or to a user with a password.',
  ),
});

interface Values {
  trusted?: boolean;
}

const judge = judgeOf<Values>(trustedProviderFields);

/** The routes. */
export function trustedProviderRoutes(context: ApiContext): ServerRoute[] {
  const path = '/v0/trusted_providers';
  const one = `${path}/{kind}/{id}`;
  const body = takesBody({ wrapper: 'trusted_provider', judge, mode: 'update' });
  return [
    route('GET', path, {}, async () => {
      await context.recall.refresh();
      const entries = await authoritiesOf(
        context.services.database,
        await context.recall.configuration(),
      );
      return { data: await Promise.all(entries.map((entry) => show(context, entry))) };
    }),
    route(['PATCH', 'PUT'], one, body, async (request) => ({
      data: await setMark(context, request, judgedBody(request)),
    })),
  ];
}

async function setMark(
  context: ApiContext,
  request: Request,
  { values, faults }: Judged<Values>,
): Promise<Shown> {
  const { database } = context.services;
  const entry = await context.writes.run(callerOf(request), {
    // Nobody may change the address of the entry between reading and marking.
    scopes: { configuration: true },
    judge: async () => {
      refuseFaults(faults);
      await context.recall.refresh();
      return findEntry(context, request);
    },
    write: async (transaction, found) => {
      const { trusted } = values;
      if (trusted !== undefined) await markTrusted(database, found.authority, trusted, transaction);
      return found;
    },
  });
  return show(context, entry);
}

/** An entry that leads to a provider; if its metadata cannot be read, there is none to trust. */
async function findEntry(
  context: ApiContext,
  request: Request,
): Promise<EntryAuthority & { authority: Authority }> {
  const entries = await authoritiesOf(
    context.services.database,
    await context.recall.configuration(),
  );
  const { kind, id } = request.params as Record<string, unknown>;
  const entry = entries.find((one) => one.kind === kind && one.id === id);
  if (entry === undefined || entry.authority === null) throw new ApiError('not_found');
  return { ...entry, authority: entry.authority };
}

async function show(
  { services: { database } }: ApiContext,
  { kind, id, label, authority }: EntryAuthority,
): Promise<Shown> {
  return { kind, id, label, trusted: authority !== null && (await isTrusted(database, authority)) };
}

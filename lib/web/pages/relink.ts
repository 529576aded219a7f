// Frees the links of people whose provider changed how it names them: of everybody of an entry, on
// the page of the provider, or of one user, on the page of the user. The operations of the API do
// the work.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  freeUntil,
  type LinksWanted,
  type ProviderKind,
  type UserRow,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { relinkedSentence } from '../../auth/identity/relink.ts';
import { errorLine } from '../kit/attempt.ts';
import { textOf } from '../kit/form-token.ts';
import { providerForms } from '../parts/provider-form.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs } from '../kit/save.ts';
import type { Web } from '../kit/web.ts';

/** The routes. */
export function relinkPages(web: Web): ServerRoute[] {
  const provider = '/settings/providers';
  const user = '/users/{id}';
  return [
    ...Object.values(providerForms).map(({ kind }) =>
      recently(
        adminPage('POST', `${provider}/${kind}/{id}/relink`, (request, h) =>
          relinkEverybody(web, kind, request, h),
        ),
        `${provider}/${kind}/{id}`,
      ),
    ),
    recently(
      adminPage('POST', `${user}/relink`, (request, h) => relinkUser(web, request, h)),
      `${user}/sign_in`,
    ),
  ];
}

/** The accounts at providers that are linked to a user, as their page shows them. */
export async function linksOf(web: Web, { id, role }: Pick<UserRow, 'id' | 'role'>) {
  const where = { user_id: id };
  const order: [string, string][] = [['inserted_at', 'ASC']];
  const links = await web.services.database.models.Identity.findAll({ where, order });
  const now = new Date();
  return Promise.all(
    links.map(async (link) => {
      const { kind, provider_id, issuer, subject } = link;
      const entry = (await entriesOf(web, kind)).find((one) => one.id === provider_id);
      return {
        kind,
        provider: provider_id,
        label: entry?.label ?? provider_id,
        issuer,
        subject,
        canBeFreed: entry !== undefined && role !== 'admin',
        freeUntil: freeUntil(link, now)?.toISOString() ?? null,
      };
    }),
  );
}

function relinkEverybody(
  web: Web,
  kind: ProviderKind,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const id = String(request.params['id']);
  const back = `/settings/providers/${kind}/${encodeURIComponent(id)}`;
  return relink(web, request, h, { kind, provider_id: id, userId: null }, back);
}

async function relinkUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const id = String(request.params['id']).toLowerCase();
  if (!isUuid(id)) throw new ApiError('not_found');
  const kind = textOf(request, 'kind') === 'saml' ? 'saml' : 'oidc';
  const wanted = { kind, provider_id: textOf(request, 'provider'), userId: id } as const;
  return relink(web, request, h, wanted, `/users/${id}/sign_in`);
}

async function relink(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  wanted: LinksWanted,
  back: string,
): Promise<ResponseObject> {
  const { kind, provider_id, userId } = wanted;
  if (!(await entriesOf(web, kind)).some(({ id }) => id === provider_id))
    throw new ApiError('not_found');
  return act(web, request, h, {
    write: performs(callerOf(request), 'updateRelink', {
      params: { kind, id: provider_id },
      record: userId === null ? { everyone: true } : { user_id: userId },
    }),
    back,
    done: ({ users, administrators, until }) =>
      relinkedSentence(
        { users: Number(users), administrators: Number(administrators) },
        new Date(String(until)),
      ),
    failed: ({ user_id: why = [] }) => `This user ${errorLine({ base: why })}.`,
  });
}

async function entriesOf(web: Web, kind: ProviderKind) {
  await web.recall.refresh();
  return (await web.recall.configuration())[providerForms[kind].list];
}

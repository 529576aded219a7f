// What administrators do about metadata that are fetched from the address of a SAML provider: fetch
// them at once, and make old certificates invalid. The forms are on the page of the provider.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { SamlIdentityProvider } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { refreshOnDemand, type Refreshed } from '../../auth/saml/refresh.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs } from '../kit/save.ts';
import type { Web } from '../kit/web.ts';

const PROVIDER = '/settings/providers/saml/{id}';

/** The routes. */
export function samlMetadataPages(web: Web): ServerRoute[] {
  return [
    recently(
      adminPage('POST', `${PROVIDER}/metadata/refresh`, (request, h) => refresh(web, request, h)),
      PROVIDER,
    ),
    recently(
      adminPage('POST', `${PROVIDER}/metadata/drop-former`, (request, h) => drop(web, request, h)),
      PROVIDER,
    ),
  ];
}

async function refresh(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, log, counters, discoveryLimits: limits } = web.services;
  const entry = await findEntry(web, request);
  const refreshed = await refreshOnDemand({ database, log, counters, limits }, entry);
  const isDone = refreshed?.kind === 'fetched';
  web.pages.flash(h, isDone ? 'done' : 'failed', sentenceOf(refreshed));
  return web.pages.redirect(h, pageOf(entry));
}

function sentenceOf(refreshed: Refreshed | null): string {
  if (refreshed?.kind === 'fetched')
    return refreshed.isChanged ? 'New metadata serve.' : 'The metadata have not changed.';
  if (refreshed?.kind === 'refused') return `The metadata were not taken: ${refreshed.problem}.`;
  return 'Somebody else fetches or changes them at this moment; try again.';
}

async function drop(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const entry = await findEntry(web, request);
  return act(web, request, h, {
    write: performs(callerOf(request), 'updateSamlMetadata', {
      params: { id: entry.id },
      record: { drop_former: true },
    }),
    back: pageOf(entry),
    done: () => 'Only the certificates in the metadata are used.',
  });
}

function pageOf({ id }: SamlIdentityProvider): string {
  return PROVIDER.replace('{id}', encodeURIComponent(id));
}

async function findEntry(web: Web, request: Request): Promise<SamlIdentityProvider> {
  await web.recall.refresh();
  const { saml_identity_providers: entries } = await web.recall.configuration();
  const entry = entries.find(({ id }) => id === request.params['id']);
  if (entry?.metadata_url === undefined) throw new ApiError('not_found');
  return entry;
}

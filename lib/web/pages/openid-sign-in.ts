// Signing in through an OpenID provider: `/auth/oidc/{id}` sends the browser there, the callback
// takes it back. docs/api.md#sign-in.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { OpenidConnectProvider } from '../../../models/index.ts';
import { oidcAuthority } from '../../auth/identity/authority.ts';
import { OidcClients } from '../../auth/oidc/client.ts';
import { nextRefresh } from '../../auth/oidc/refresh.ts';
import { beginOidc, finishOidc, type OidcContext, redirectUriOf } from '../../auth/oidc/sign-in.ts';
import { recently } from '../kit/recent.ts';
import { adminPage, openPage } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';
import { ProviderSignIn } from './provider-sign-in.ts';

/** The routes of OpenID. */
export function openidPages(web: Web): ServerRoute[] {
  const clients = new OidcClients(web.services.discoveryLimits);
  const signIn = new ProviderSignIn(web, 'oidc');
  const contextOf = async (request: Request): Promise<OidcContext> => {
    const provider = await signIn.entryOf(request, providersOf);
    const { database, config } = web.services;
    return {
      database,
      clients,
      provider,
      redirectUri: redirectUriOf(provider, config.externalUrl),
    };
  };
  const begin = async (request: Request, h: ResponseToolkit): Promise<ResponseObject> => {
    const context = await contextOf(request);
    const address = await beginOidc(context, await signIn.beginner(request, h));
    return web.pages.leave(request, h, address);
  };
  // An administrator's form asks for it; it signs nobody in.
  const beginTest = async (request: Request, h: ResponseToolkit): Promise<ResponseObject> => {
    const context = await contextOf(request);
    const address = await beginOidc(context, await signIn.tester(request, h));
    return web.pages.leave(request, h, address);
  };
  const finish = async (request: Request, h: ResponseToolkit): Promise<ResponseObject> => {
    const context = await contextOf(request);
    const { searchParams } = request.url;
    const proof = await finishOidc(context, searchParams, signIn.binding.of(request));
    if (proof.kind === 'tested') return signIn.showTest(request, h, proof);
    const { provider } = context;
    return signIn.complete(request, h, {
      account: proof.account,
      rules: {
        autoCreateUsers: provider.auto_create_users,
        authority: oidcAuthority(provider).authority,
      },
      tokens: { kept: proof.tokens, refreshAt: nextRefresh(new Date()) },
      groups: proof.groups === undefined ? undefined : { said: proof.groups, entry: provider },
      since: proof.since,
      returnTo: proof.returnTo,
      linkId: proof.linkId,
    });
  };
  const entry = '/settings/providers/oidc/{id}';
  return [
    openPage('GET', '/auth/oidc/{id}', signIn.step(begin)),
    // With a slash at its end as well, the router sees to that.
    openPage('GET', '/auth/oidc/{id}/callback', signIn.step(finish)),
    recently(adminPage('POST', `${entry}/test`, signIn.step(beginTest)), entry),
  ];
}

function providersOf({
  openid_connect_providers: providers,
}: {
  readonly openid_connect_providers: readonly OpenidConnectProvider[];
}): readonly OpenidConnectProvider[] {
  return providers;
}

// Signing in through a SAML provider. `signin` makes the request and sends the browser to the
// provider; its page posts the answer to `consume`, from another site and so without a token of
// ours; `complete` ends the sign-in where the browser's cookies are. `metadata` tells providers of
// us. docs/api.md#sign-in.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { SamlIdentityProvider } from '../../../models/index.ts';
import { newSecret } from '../../auth/browser-cookies.ts';
import { samlAuthority } from '../../auth/identity/authority.ts';
import { methodOf } from '../../auth/identity/method.ts';
import { ProviderRefusal } from '../../auth/identity/refusal.ts';
import type { Beginner } from '../../auth/identity/request.ts';
import { shutOutDenied } from '../../auth/saml/denied.ts';
import { logoutAnswer } from '../../auth/saml/logout.ts';
import { metadataOf } from '../../auth/saml/provider-metadata.ts';
import { ourMetadata, serviceProvider } from '../../auth/saml/service-provider.ts';
import {
  accountOf,
  beginSaml,
  completeSaml,
  consumeSaml,
  type SamlContext,
} from '../../auth/saml/sign-in.ts';
import { endSessionsAtProvider } from '../../auth/saml/sign-out.ts';
import { verifier } from '../../auth/saml/verifier.ts';
import { signOut } from '../../auth/sign-in.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { takesForm, textOf } from '../kit/form-token.ts';
import { recently } from '../kit/recent.ts';
import { adminPage, openPage } from '../kit/route.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { ProviderSignIn } from './provider-sign-in.ts';

/** Largest form of a provider: a message of full size, as base64 that a form escapes. */
const FORM_BYTES_MAX = 262_144;
/** In the address of the page after a form that asked to sign out and could not be verified. */
const UNVERIFIED = 'unverified';

/** The routes of SAML. */
export function samlPages(web: Web): ServerRoute[] {
  const signIn = new ProviderSignIn(web, 'saml');
  const pages = new SamlPages(web, signIn);
  // What is posted here comes from another site; it proves itself by what it holds.
  const fromElsewhere = {
    plugins: { web: { formToken: false } },
    payload: { ...takesForm, maxBytes: FORM_BYTES_MAX },
    // Nothing is read for an entry that does not exist.
    ext: { onPreAuth: { method: signIn.gate((request) => pages.entryOf(request)) } },
  } as const;
  const step = (name: 'begin' | 'beginTest' | 'consume' | 'complete' | 'metadata' | 'logout') =>
    signIn.step((request, h) => pages[name](request, h));
  const entry = '/settings/providers/saml/{id}';
  return [
    openPage('GET', '/auth/saml/auth/signin/{id}', step('begin')),
    openPage('POST', '/auth/saml/auth/signin/{id}', step('begin'), fromElsewhere),
    openPage('POST', '/auth/saml/sp/consume/{id}', step('consume'), fromElsewhere),
    openPage('GET', '/auth/saml/sp/complete/{id}', step('complete')),
    openPage('GET', '/auth/saml/sp/metadata/{id}', step('metadata')),
    openPage('GET', '/auth/saml/sp/logout/{id}', step('logout')),
    openPage('POST', '/auth/saml/sp/logout/{id}', step('logout'), fromElsewhere),
    recently(adminPage('POST', `${entry}/test`, step('beginTest')), entry),
  ];
}

class SamlPages {
  readonly #web: Web;
  readonly #signIn: ProviderSignIn;

  constructor(web: Web, signIn: ProviderSignIn) {
    this.#web = web;
    this.#signIn = signIn;
  }

  async begin(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    return this.#begin(request, h, await this.#signIn.beginner(request, h));
  }

  /** Begins a test, which signs nobody in; an administrator's form asks for it. */
  async beginTest(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    await this.entryOf(request);
    return this.#begin(request, h, await this.#signIn.tester(request, h));
  }

  async #begin(request: Request, h: ResponseToolkit, beginner: Beginner): Promise<ResponseObject> {
    const asked = await beginSaml(await this.#contextOf(request), beginner);
    if (asked.kind === 'redirect') return this.#web.pages.leave(request, h, asked.address);
    // The provider may send the browser on, to a page of another host: browsers check that as well.
    request.app.allowedSources = { ...request.app.allowedSources, forms: 'https: http:' };
    return this.#web.pages.show(request, h, 'leave-by-form', {
      title: say('leave.title'),
      address: asked.address,
      fields: asked.fields,
      scripts: ['leave-by-form.js'],
    });
  }

  async consume(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const context = await this.#contextOf(request);
    const { binding } = this.#signIn;
    const consumed = await consumeSaml(context, {
      samlResponse: textOf(request, 'SAMLResponse'),
      relayState: textOf(request, 'RelayState'),
      ...(binding.isCrossSite ? { browserSha256: binding.of(request) } : {}),
    });
    if (consumed.kind === 'tested') return this.#signIn.showTest(request, h, consumed);
    if (consumed.kind === 'denied') {
      const { begunBy, status } = consumed;
      if (begunBy !== null) await this.#shutOut(request, begunBy, context.provider.id);
      throw new ProviderRefusal('provider_refused', status);
    }
    const { id } = context.provider;
    const query = new URLSearchParams({ ticket: consumed.ticket }).toString();
    return this.#web.pages.redirect(h, `/auth/saml/sp/complete/${encodeURIComponent(id)}?${query}`);
  }

  async complete(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const context = await this.#contextOf(request);
    const { provider } = context;
    const ticket: unknown = request.query['ticket'];
    const {
      account,
      groups: said,
      atProvider,
      since,
      returnTo,
      linkId,
    } = await completeSaml(
      context,
      typeof ticket === 'string' ? ticket : null,
      this.#signIn.binding.of(request),
    );
    const rules = {
      autoCreateUsers: provider.auto_create_users,
      authority: (await samlAuthority(context.database, provider)).authority,
    };
    const groups = said === undefined ? undefined : { said, entry: provider };
    const proof = { account, rules, groups, atProvider, since, returnTo, linkId };
    return this.#signIn.complete(request, h, proof);
  }

  async metadata(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { provider, ours } = await this.#contextOf(request);
    return h.response(await ourMetadata(provider, ours)).type('application/samlmetadata+xml');
  }

  /** A request that cannot be verified ends the session of this browser at most. */
  async logout(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    if (request.query[UNVERIFIED] !== undefined) return this.#logoutHere(request, h);
    try {
      return await this.#logout(request, h);
    } catch (error) {
      if (!(error instanceof ProviderRefusal) || error.reason !== 'answer_invalid') throw error;
      if (request.method === 'get') return this.#logoutHere(request, h, error);
      // A form from another site brings no cookie; the address that it leads to does.
      this.#signIn.note(request, error);
      return this.#web.pages.redirect(h, `${request.path}?${UNVERIFIED}`);
    }
  }

  /** Ends the session of this browser, if the provider began it, and says why nothing else ends. */
  async #logoutHere(
    request: Request,
    h: ResponseToolkit,
    cause?: ProviderRefusal,
  ): Promise<ResponseObject> {
    const session = await this.#web.sessions.find(request);
    const isTheirs = session?.method === methodOf('saml', String(request.params['id']));
    if (isTheirs) await signOut(this.#web, request, h);
    const reason = isTheirs ? 'signed_out_here' : 'sign_out_refused';
    throw new ProviderRefusal(reason, cause?.detail, { cause });
  }

  /** The provider signs somebody out, in whatever browser: what counts is what it signed. */
  async #logout(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { database, provider, ours } = await this.#contextOf(request);
    const setup = { provider, ours, metadata: await metadataOf(database, provider) };
    const query = request.url.search.slice(1);
    const isForm = request.method === 'post';
    const fieldOf = (name: string): string =>
      isForm ? textOf(request, name) : (new URLSearchParams(query).get(name) ?? '');
    // An answer to a request of ours, which we do not make: there is nothing to do.
    if (fieldOf('SAMLRequest') === '') return this.#web.pages.redirect(h, '/');
    const asked = isForm
      ? await verifier.verify('postedLogout', setup, fieldOf('SAMLRequest'), new Date())
      : await verifier.verify('addressedLogout', setup, query, new Date());
    const account = accountOf(provider.id, setup.metadata.entityId, asked);
    await endSessionsAtProvider(database, account, asked, callerOf(request).origin);
    const address = await logoutAnswer(setup, asked, fieldOf('RelayState'), `_${newSecret()}`);
    // Providers ask in frames, where a page of ours is not shown; a redirect is followed there.
    return address === null ? this.#web.pages.redirect(h, '/') : h.redirect(address).code(303);
  }

  /** The entry of a request's provider; throws ProviderRefusal where there is none. */
  entryOf(request: Request): Promise<SamlIdentityProvider> {
    return this.#signIn.entryOf(request, ({ saml_identity_providers: entries }) => entries);
  }

  async #contextOf(request: Request): Promise<SamlContext> {
    const { database, config, log, counters, discoveryLimits: limits } = this.#web.services;
    const provider = await this.entryOf(request);
    const ours = await serviceProvider(config, database);
    return { database, log, counters, limits, provider, ours };
  }

  /**
   * A denial disables the user whom it is about, if they sign in through this provider and the
   * setting is on.
   */
  async #shutOut(request: Request, userId: string, providerId: string): Promise<void> {
    const { database } = this.#web.services;
    const { disable_vpn_on_oidc_error: isOn } = await this.#web.recall.configuration();
    if (!isOn) return;
    const denied = { userId, providerId };
    callerOf(request).revision = await shutOutDenied(database, denied, callerOf(request).origin);
  }
}

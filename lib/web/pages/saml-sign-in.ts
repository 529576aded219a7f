// Signing in through a SAML provider. `signin` makes the request and sends the browser to the
// provider; its page posts the answer to `consume`, from another site and so without a token of
// ours; `complete` ends the sign-in where the browser's cookies are. `metadata` tells providers of
// us. api.md, section 8.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { actAs, lockScopes, writeTransaction } from '../../../models/index.ts';
import { noteRevision } from '../../api/in-force.ts';
import { disableByProvider } from '../../auth/identity/disable.ts';
import { methodOf, shownMethod } from '../../auth/identity/method.ts';
import { ProviderRefusal } from '../../auth/identity/refusal.ts';
import { metadataOf, ourMetadata, serviceProvider } from '../../auth/saml/service-provider.ts';
import { beginSaml, completeSaml, consumeSaml, type SamlContext } from '../../auth/saml/sign-in.ts';
import { originOf } from '../../observe/audit.ts';
import { takesForm, textOf } from '../forms.ts';
import { openPage } from '../route.ts';
import type { Web } from '../web.ts';
import { ProviderSignIn } from './provider-sign-in.ts';

/** Largest form of a provider; answers are bounded more closely where they are judged. */
const FORM_BYTES_MAX = 1_048_576;

/** The routes of SAML. */
export function samlPages(web: Web): ServerRoute[] {
  const signIn = new ProviderSignIn(web, 'saml');
  const pages = new SamlPages(web, signIn);
  // What is posted here comes from another site; it proves itself by what it holds.
  const fromElsewhere = {
    plugins: { web: { formToken: false } },
    payload: { ...takesForm, maxBytes: FORM_BYTES_MAX },
  } as const;
  const step = (name: 'begin' | 'consume' | 'complete' | 'metadata') =>
    signIn.step((request, h) => pages[name](request, h));
  return [
    openPage('GET', '/auth/saml/auth/signin/{id}', step('begin')),
    openPage('POST', '/auth/saml/auth/signin/{id}', step('begin'), fromElsewhere),
    openPage('POST', '/auth/saml/sp/consume/{id}', step('consume'), fromElsewhere),
    openPage('GET', '/auth/saml/sp/complete/{id}', step('complete')),
    openPage('GET', '/auth/saml/sp/metadata/{id}', step('metadata')),
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
    const context = await this.#contextOf(request);
    const asked = await beginSaml(context, await this.#signIn.beginner(request, h));
    if (asked.kind === 'redirect') return this.#web.pages.leave(request, h, asked.address);
    // The provider may send the browser on, to a page of another host: browsers judge that as well.
    request.app.allowedSources = { ...request.app.allowedSources, forms: 'https: http:' };
    return this.#web.pages.show(request, h, 'leave-by-form', {
      title: 'One moment',
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
    const { account, returnTo } = await completeSaml(
      context,
      typeof ticket === 'string' ? ticket : null,
      this.#signIn.binding.of(request),
    );
    const rules = {
      autoCreateUsers: provider.auto_create_users,
      authority: metadataOf(provider).entityId,
    };
    return this.#signIn.complete(request, h, { account, rules, returnTo });
  }

  async metadata(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { provider, ours } = await this.#contextOf(request);
    return h.response(ourMetadata(provider, ours)).type('application/samlmetadata+xml');
  }

  async #contextOf(request: Request): Promise<SamlContext> {
    const { database, config } = this.#web.services;
    const provider = await this.#signIn.entryOf(
      request,
      ({ saml_identity_providers: providers }) => providers,
    );
    return { database, provider, ours: await serviceProvider(config, database) };
  }

  /** A denial shuts out whom it was asked about, if that is how they sign in and the setting is on. */
  async #shutOut(request: Request, userId: string, providerId: string): Promise<void> {
    const { database } = this.#web.services;
    const { disable_vpn_on_oidc_error: isOn } = await this.#web.recall.configuration();
    if (!isOn) return;
    const method = methodOf('saml', providerId);
    const { revision } = await writeTransaction(database, async (transaction) => {
      actAs(transaction, originOf(request));
      await lockScopes(database, transaction, { configuration: true });
      const { User, Identity } = database.models;
      const user = await User.findByPk(userId, { transaction, lock: true });
      const where = { user_id: userId, kind: 'saml', provider_id: providerId };
      const bound = await Identity.count({ where, transaction });
      const isTheirs = bound > 0 || user?.last_signed_in_method === shownMethod(method);
      if (isTheirs) await disableByProvider(database, userId, method, transaction);
    });
    noteRevision(request, revision);
  }
}

// What signing in through OpenID and through SAML have in common in the console: how a refusal is
// shown, counted and logged, how often an address may try, and how an account that a provider
// proved becomes a session. docs/api.md#sign-in.

import type { Lifecycle, Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { TunnelAddresses } from '../../kit/http/tunnel-addresses.ts';
import { ApiError, type ErrorCode } from '../../kit/http/errors.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { Buckets } from '../../auth/buckets.ts';
import { BrowserBinding } from '../../auth/identity/browser.ts';
import { type GroupsOfAnswer, logGroupsError } from '../../auth/identity/groups.ts';
import { methodOf } from '../../auth/identity/method.ts';
import {
  type ProvenAccount,
  type ProvisionContext,
  type ProvisionRules,
  provisionUser,
} from '../../auth/identity/provision.ts';
import { ProviderRefusal, type RefusalReason } from '../../auth/identity/refusal.ts';
import { type Beginner, makeRoom, sourceOf } from '../../auth/identity/request.ts';
import { noteTestBegun, type Tested } from '../../auth/identity/test-report.ts';
import { localPath } from '../../auth/local-path.ts';
import { findOpenLink, LINK_FIELD, openLink, useLink } from '../../auth/one-time-links.ts';
import { completeSignIn, SignInRefusal } from '../../auth/sign-in.ts';
import {
  type ProviderKind,
  type SessionAtProvider,
  type Transaction,
  type User,
} from '../../../models/index.ts';
import { groupsHearer } from '../../domain/policy/memberships.ts';
import { PageError } from '../../kit/http/page-error.ts';
import { isFromAfar } from '../kit/form-token.ts';
import { say, type TextKey } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';

/**
 * Steps of sign-ins that one address may take each second, and at once. A whole office may sign in
 * from one address in the morning, and each sign-in takes two or three steps.
 */
const STEPS = { perSecond: 10, burst: 200 };

/** How many sign-ins this process begins before it counts again how many have not ended. */
const ROOM_MADE_EVERY = 50;

/** The error that answers a refusal; the refusal itself has the words for the person. */
const codes: Readonly<Record<ProviderRefusal['blamed'], ErrorCode>> = {
  nobody: 'not_found',
  person: 'forbidden',
  provider: 'bad_gateway',
  gateway: 'service_unavailable',
};

/** Titles of error pages; all other refusals have the title “Sign-in failed”. */
const titles: Readonly<Partial<Record<RefusalReason, TextKey>>> = {
  unknown_provider: 'sign_in.no_provider',
  signed_out_here: 'sign_in.signed_out',
  sign_out_refused: 'sign_in.sign_out_refused',
};

/** A handler of one step. */
type Step = (request: Request, h: ResponseToolkit) => Promise<ResponseObject>;

/** The steps of signing in through providers of one kind. */
export class ProviderSignIn {
  readonly binding: BrowserBinding;
  readonly #web: Web;
  readonly #kind: ProviderKind;
  readonly #tunnel: TunnelAddresses;
  readonly #buckets: Buckets | null;
  #began = 0;

  constructor(web: Web, kind: ProviderKind) {
    const { config } = web.services;
    this.#web = web;
    this.#kind = kind;
    this.#tunnel = new TunnelAddresses(config);
    this.binding = new BrowserBinding(config.externalUrl);
    this.#buckets = config.apiRateLimit === 0 ? null : new Buckets(STEPS);
  }

  /** A step whose refusals are counted, logged, and shown as a page with the request's id. */
  step(handler: Step): Step {
    return async (request, h) => {
      if (this.#buckets?.take(this.#tunnel.scopeOf(request.app.address ?? '')) === false)
        throw new ApiError('too_many_requests', { reason: 'too_many_provider_steps' });
      try {
        return await handler(request, h);
      } catch (error) {
        throw this.#shown(request, error);
      }
    };
  }

  /** A check of a request before its body is read; refusals are handled like those of a step. */
  gate(look: (request: Request) => Promise<unknown>): Lifecycle.Method {
    return async (request, h) => {
      try {
        await look(request);
        return h.continue;
      } catch (error) {
        throw this.#shown(request, error);
      }
    };
  }

  /** The configuration as it serves, and in it the entry of a request's provider. */
  async entryOf<Entry extends { id: string }>(
    request: Request,
    entriesOf: (configuration: EffectiveConfiguration) => readonly Entry[],
  ): Promise<Entry> {
    await this.#web.recall.refresh();
    const id: unknown = request.params['id'];
    const entry = entriesOf(await this.#web.recall.configuration()).find((one) => one.id === id);
    if (entry === undefined) throw new ProviderRefusal('unknown_provider');
    return entry;
  }

  /** Who begins a sign-in: the browser, and the user who is signed in there already. */
  async beginner(request: Request, h: ResponseToolkit): Promise<Beginner> {
    if (this.#began % ROOM_MADE_EVERY === 0) await makeRoom(this.#web.services);
    this.#began += 1;
    const session = await this.#web.sessions.find(request);
    const { return_to: wanted, [LINK_FIELD]: secret } = request.query as Record<string, unknown>;
    const { config, database } = this.#web.services;
    const linkId = typeof secret === 'string' ? (await openLink(database, secret)).link.id : null;
    // A provider's denial may disable the user, so another site must not ask in their name.
    const isTheirs = session?.state === 'open' && !(this.#kind === 'saml' && isFromAfar(request));
    return {
      browserSha256: this.binding.begin(request, h),
      userId: isTheirs ? session.user_id : null,
      source: sourceOf(config, request.app.address ?? ''),
      returnTo: localPath(wanted),
      linkId,
    };
  }

  /**
   * The administrator who begins a test, which signs nobody in. The audit trail notes who began it.
   */
  async tester(request: Request, h: ResponseToolkit): Promise<Beginner> {
    const { sessionId: testBy = null } = callerOf(request).letIn ?? {};
    if (testBy === null) throw new ApiError('not_found');
    const named = { kind: this.#kind, id: String(request.params['id']) };
    await noteTestBegun(this.#web.rooms.configuration, callerOf(request), named);
    return { ...(await this.beginner(request, h)), userId: null, returnTo: null, testBy };
  }

  /** Redirects to the page that shows what a test found. */
  showTest(request: Request, h: ResponseToolkit, { ticket }: Tested): ResponseObject {
    this.#web.services.counters.add('sign_ins', `${this.#kind}_tested`);
    const id = encodeURIComponent(String(request.params['id']));
    return this.#web.pages.redirect(h, `/settings/providers/${this.#kind}/${id}/tests/${ticket}`);
  }

  /** Ends a sign-in that the provider proved. */
  async complete(
    request: Request,
    h: ResponseToolkit,
    proof: {
      readonly account: ProvenAccount;
      readonly rules: ProvisionRules;
      readonly tokens?: NonNullable<ProvisionContext['tokens']>;
      /** What the provider says of groups; undefined where the entry does not ask. */
      readonly groups: GroupsOfAnswer | undefined;
      /** When the person signed in there, if that is known. */
      readonly since?: Date | undefined;
      readonly atProvider?: SessionAtProvider;
      readonly returnTo: string | null;
      /** The one-time link that led to the provider. */
      readonly linkId: string | null;
    },
  ): Promise<ResponseObject> {
    const { account, tokens, groups, since, atProvider, returnTo, linkId } = proof;
    const { database, log } = this.#web.services;
    const link = linkId === null ? null : await findOpenLink(database, linkId);
    const rules = { ...proof.rules, onlyUserId: link?.user_id };
    const { userId, groupsError } = await provisionUser(database, account, rules, {
      origin: callerOf(request).origin,
      now: new Date(),
      ...(tokens === undefined ? {} : { tokens }),
      ...(groups === undefined
        ? {}
        : { groups: { ...groups, hearGroups: groupsHearer(this.#web) } }),
    });
    const about = { request_id: request.app.id, kind: this.#kind, provider: account.provider_id };
    logGroupsError(log, groupsError, about);
    const method = methodOf(this.#kind, account.provider_id);
    const also = async (_user: User, transaction: Transaction): Promise<void> => {
      if (link !== null) await useLink(database, link, transaction);
    };
    const signedIn = { userId, method, since, atProvider, returnTo, also };
    return completeSignIn(this.#web, request, h, signedIn);
  }

  #shown(request: Request, error: unknown): unknown {
    // The provider proved who it is, but the user is disabled here. The error has its page already.
    if (error instanceof SignInRefusal)
      this.#web.services.counters.add('sign_ins', `${this.#kind}_shut_out`);
    if (!(error instanceof ProviderRefusal)) return error;
    this.note(request, error);
    const { reason, blamed, text } = error;
    const title = say(titles[reason] ?? 'sign_in.failed');
    return new PageError(codes[blamed], { title, text });
  }

  /** Counts and logs a refusal. */
  note(request: Request, { reason, detail, said, blamed }: ProviderRefusal): void {
    const { log, counters } = this.#web.services;
    counters.add('sign_ins', `${this.#kind}_${reason}`);
    // The id of an entry was set by an administrator; an unknown id could be any text.
    const provider: unknown = blamed === 'nobody' ? null : request.params['id'];
    const description = said === null ? {} : { error_description: said };
    const about = { request_id: request.app.id, kind: this.#kind, provider };
    const fields = { ...about, reason, detail, ...description };
    log[blamed === 'provider' ? 'warn' : 'info'](
      fields,
      'a sign-in through a provider was refused',
    );
  }
}

// Asks OpenID providers every ten minutes whether accounts still exist, by refreshing their tokens.
// A user whom a provider refuses may be disabled here too. One gateway at a time asks about an
// account. A rotated token is kept before anything else is checked. A user is disabled only if the
// provider refuses the account, or if it lost the claim that the entry requires; not if the network
// fails, if the provider is down or if our own client is wrong. docs/api.md#sign-in.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client';
import {
  actAs,
  type Authority,
  awaitsTurns,
  claimDueTokens,
  type Database,
  GATEWAY,
  type GroupsError,
  type Identity,
  type IdentityTokens,
  lockScopes,
  type OpenidConnectProvider,
  type ProviderTokens,
  type Settlement,
  settleTokens,
  wakeTokens,
  writeTransaction,
} from '../../../models/index.ts';
import type { Counters } from '../../kit/process/counters.ts';
import type { Log } from '../../kit/process/log.ts';
import { oidcAuthority } from '../identity/authority.ts';
import { disableByProvider } from '../identity/disable.ts';
import {
  type GroupsOfAnswer,
  type HearsGroups,
  logGroupsError,
  takeGroups,
} from '../identity/groups.ts';
import { methodOf } from '../identity/method.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { loadOpenidClient } from './client-authentication.ts';
import { type OidcClient, OidcClients } from './client.ts';
import { checkRequiredClaimIfSent, type Claims, groupsOf, holdsClaims } from './claims.ts';
import { claimSources, refusalOf, tokensOf } from './sign-in.ts';

/** How often the provider is asked about an account. */
export const REFRESH_EVERY_MS = 10 * 60_000;
/** The part of it by which a turn may be earlier or later, so that not all come at once. */
const JITTER = 0.1;
/** How far ahead a turn is at most. */
const LONGEST_MS = REFRESH_EVERY_MS * (1 + JITTER);
/** How often this gateway looks for accounts whose turn has come. */
const LOOK_EVERY_MS = 15_000;
/** How long an account is reserved: longer than a request and all retries of saving. */
const CLAIM_MS = 120_000;
/** How many accounts one look takes, and about how many of them providers are asked at once. */
const TAKEN_MAX = 40;
const AT_ONCE_MAX = 4;
/** Pauses between attempts to save a rotated token, which exists nowhere else. */
const SAVE_PAUSES_MS = [100, 500, 2_000, 10_000];

/** Errors by which a provider refuses the account; others are errors of us or of the provider. */
const REFUSALS = new Set([
  'invalid_grant',
  'access_denied',
  'interaction_required',
  'login_required',
  'consent_required',
]);

/** What refreshing needs. */
export interface RefreshContext {
  readonly database: Database;
  readonly log: Log;
  readonly counters: Counters;
  readonly clients?: OidcClients;
  readonly hearGroups: HearsGroups;
  /** The configuration in force, read at each look. */
  readonly settings: () => Promise<{
    readonly openid_connect_providers: readonly OpenidConnectProvider[];
    readonly disable_vpn_on_oidc_error: boolean;
  }>;
  /** The latest revision that this gateway knows; a change of the configuration makes a new one. */
  readonly revision: () => number;
  readonly now?: () => Date;
}

/** When the next turn of an account comes. */
export function nextRefresh(now: Date): Date {
  const factor = 1 + JITTER * (2 * Math.random() - 1);
  return new Date(now.getTime() + REFRESH_EVERY_MS * factor);
}

/** Refreshes until it is stopped. */
export function startRefreshing(
  context: RefreshContext,
  lookEveryMs = LOOK_EVERY_MS,
): { stop(): Promise<void> } {
  const refresher = new Refresher(context);
  let underWay: Promise<void> | null = null;
  const look = (): void => {
    underWay ??= refresher.look().finally(() => {
      underWay = null;
    });
  };
  const timer = setInterval(look, lookEveryMs);
  return {
    stop: async () => {
      clearInterval(timer);
      refresher.stop();
      await underWay;
    },
  };
}

/** The refresher of one gateway. */
export class Refresher {
  readonly #context: RefreshContext;
  readonly #clients: OidcClients;
  readonly #owner = randomUUID();
  readonly #stop = new AbortController();
  /** As of which revision no account is to be asked about; null: some are. */
  #restingAt: number | null = null;
  /** The entries of the last look, as one text. */
  #entries: string | null = null;

  constructor(context: RefreshContext) {
    this.#context = context;
    this.#clients = context.clients ?? new OidcClients();
  }

  /** Takes no further accounts; requests that have begun are finished. */
  stop(): void {
    this.#stop.abort();
  }

  /** Asks about the accounts whose turn has come. The promise never rejects. */
  async look(): Promise<void> {
    const { database, log, settings } = this.#context;
    // It is read before the settings: a change after that is looked at.
    const revision = this.#context.revision();
    if (database.later !== null || this.#restingAt === revision) return;
    this.#restingAt = null;
    try {
      const { openid_connect_providers: providers, disable_vpn_on_oidc_error: isDisabling } =
        await settings();
      const now = this.#now();
      await this.#wakeAbandoned(providers, now);
      const until = new Date(now.getTime() + CLAIM_MS);
      const claim = { owner: this.#owner, now, until, limit: TAKEN_MAX, longestMs: LONGEST_MS };
      const claimed = await claimDueTokens(database, claim);
      if (providers.length === 0 && !(await awaitsTurns(database))) this.#restingAt = revision;
      const lane = async (): Promise<void> => {
        for (let row = claimed.shift(); row !== undefined; row = claimed.shift()) {
          // The other accounts are released when their reservation ends.
          if (this.#stop.signal.aborted) return;
          await this.#refreshOne(row, providers, isDisabling);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE_MAX }, lane));
    } catch (error) {
      log.warn({ error: (error as Error).name }, 'accounts at providers were not asked for');
    }
  }

  /** If an entry changed, it may lead to its former issuer again: its accounts get a turn. */
  async #wakeAbandoned(providers: readonly OpenidConnectProvider[], now: Date): Promise<void> {
    const entries = providers
      .map(({ id, discovery_document_uri: address }) => `${id} ${address}`)
      .toSorted()
      .join('\n');
    if (entries === this.#entries) return;
    if (entries !== '') await wakeTokens(this.#context.database, ABANDONED, now);
    this.#entries = entries;
  }

  /** An error of ours with one account, such as an unreadable token, must not stop the others. */
  async #refreshOne(
    row: IdentityTokens,
    providers: readonly OpenidConnectProvider[],
    isDisabling: boolean,
  ): Promise<void> {
    const { database, log, counters } = this.#context;
    try {
      await this.#refresh(row, providers, isDisabling);
    } catch (error) {
      counters.add('refreshes', 'internal');
      const { name } = error as Error;
      log.warn({ identity: row.identity_id, error: name }, 'an account was not asked for');
      const settlement = { refreshAt: nextRefresh(this.#now()), error: 'internal' };
      await writeTransaction(database, (transaction) =>
        settleTokens(database, row, this.#owner, settlement, transaction),
      );
    }
  }

  async #refresh(
    row: IdentityTokens,
    providers: readonly OpenidConnectProvider[],
    isDisabling: boolean,
  ): Promise<void> {
    const { database, log, counters } = this.#context;
    const identity = await database.models.Identity.findByPk(row.identity_id);
    if (identity === null) return;
    const provider = providers.find(({ id }) => id === identity.provider_id);
    const { refreshToken } = row.tokens;
    const outcome: Outcome =
      provider === undefined || refreshToken === undefined
        ? { kind: 'failed', error: 'provider_gone', tokens: {} }
        : await this.#ask(provider, identity, refreshToken);
    counters.add('refreshes', outcome.kind === 'good' ? 'good' : outcome.error);
    if (outcome.kind !== 'good') {
      const { error: reason, detail = null, said = null } = outcome;
      const about = { identity: identity.id, provider: identity.provider_id };
      const description = said === null ? {} : { error_description: said };
      const fields = { ...about, reason, detail, ...description };
      if (outcome.kind === 'refused') log.info(fields, 'a provider refused an account');
      else log.warn(fields, 'an account at a provider was not refreshed');
    }
    await this.#settle(row, identity, outcome, isDisabling);
  }

  /** Asks the provider; the outcome has the rotated token even if the rest fails. */
  async #ask(
    provider: OpenidConnectProvider,
    identity: Identity,
    refreshToken: string,
  ): Promise<Outcome> {
    let tokens: ProviderTokens = {};
    const onTokens = (answer: unknown): void => {
      const { refresh_token: fresh } = (answer ?? {}) as { refresh_token?: unknown };
      tokens = tokensOf(fresh, undefined);
    };
    try {
      const client = await this.#clients.of(provider, { onTokens });
      // If the entry leads to another provider now, that one must not get this provider's token.
      if (client.issuer !== identity.issuer)
        return { kind: 'failed', error: 'other_issuer', tokens };
      const { refreshTokenGrant } = await loadOpenidClient();
      const answer = await refreshTokenGrant(client.configuration, refreshToken);
      this.#clients.keep(client);
      const subject = answer.claims()?.sub;
      if (subject !== undefined && subject !== identity.subject)
        return { kind: 'failed', error: 'other_subject', tokens };
      tokens = { ...tokens, ...tokensOf(undefined, answer.id_token) };
      return { kind: 'good', tokens, ...(await checkClaims(provider, client, identity, answer)) };
    } catch (error) {
      const code = await refusedBy(error);
      if (code !== null) return { kind: 'refused', error: code, tokens };
      const refusal = await refusalOf(error);
      if (!(refusal instanceof ProviderRefusal)) throw error;
      const { reason, detail, said } = refusal;
      const kind = reason === 'claim_required' ? 'refused' : 'failed';
      return { kind, error: reason, detail, said, tokens };
    }
  }

  /** Saves the outcome; no token may be lost because the database is away for a moment. */
  async #settle(
    row: IdentityTokens,
    identity: Identity,
    outcome: Outcome,
    isDisabling: boolean,
  ): Promise<void> {
    const { database, log, hearGroups } = this.#context;
    for (const pauseMs of [...SAVE_PAUSES_MS, null]) {
      try {
        const problem = await settleOutcome(database, {
          row,
          identity,
          outcome,
          isDisabling,
          hearGroups,
          owner: this.#owner,
          now: this.#now(),
        });
        const about = { identity: identity.id, provider: identity.provider_id };
        logGroupsError(log, problem, about);
        return;
      } catch (error) {
        if (pauseMs === null) throw error;
        log.warn({ error: (error as Error).name }, 'refreshed tokens are not saved yet');
        await sleep(pauseMs);
      }
    }
  }

  #now(): Date {
    return this.#context.now?.() ?? new Date();
  }
}

/**
 * What an answer says of groups. Throws ProviderRefusal if the account has lost the claim that the
 * entry requires.
 */
async function checkClaims(
  provider: OpenidConnectProvider,
  client: OidcClient,
  { subject }: Identity,
  answer: TokenEndpointResponse & TokenEndpointResponseHelpers,
): Promise<Pick<GoodOutcome, 'groups'>> {
  const { required_claim: required, groups_claim: path } = provider;
  if (required === undefined && path === undefined) return {};
  const names = required === undefined ? [] : [required.name];
  const isEnough = (claims: Claims) => holdsClaims(provider, names, claims);
  const claims = answer.claims();
  const sent = { claims: claims ?? {}, subject, accessToken: answer.access_token };
  const sources = await claimSources(client, isEnough, sent);
  checkRequiredClaimIfSent(provider, sources);
  // With neither ID token nor userinfo the answer says nothing, not even that there are none.
  const isReadable = claims !== undefined || sources.length > 1;
  const said = isReadable ? groupsOf(provider, sources) : undefined;
  if (said === undefined) return {};
  return { groups: { said, entry: provider, authority: oidcAuthority(provider) } };
}

/** The outcome of one attempt. */
type Outcome =
  | GoodOutcome
  | {
      readonly kind: 'refused' | 'failed';
      readonly error: string;
      /** For the log: which check failed. */
      readonly detail?: string | null;
      /** For the log: how the provider describes the error. */
      readonly said?: string | null;
      readonly tokens: ProviderTokens;
    };

interface GoodOutcome {
  readonly kind: 'good';
  readonly tokens: ProviderTokens;
  /** Left out where the entry does not ask for groups. */
  readonly groups?: GroupsOfAnswer & { readonly authority: Authority };
}

/**
 * The entry leads to another issuer, or was removed. The provider is not asked again until the
 * entry changes or the user signs in again.
 */
const ABANDONED = ['other_issuer', 'provider_gone'];

/** The code by which the provider refuses the account; null: it is another error. */
async function refusedBy(error: unknown): Promise<string | null> {
  const { ResponseBodyError } = await loadOpenidClient();
  const isRefusal =
    error instanceof ResponseBodyError && error.status < 500 && REFUSALS.has(error.error);
  return isRefusal ? error.error : null;
}

interface Settling {
  readonly row: IdentityTokens;
  readonly identity: Identity;
  readonly outcome: Outcome;
  readonly isDisabling: boolean;
  readonly hearGroups: HearsGroups;
  readonly owner: string;
  readonly now: Date;
}

async function settleOutcome(
  database: Database,
  { row, identity, outcome, isDisabling, hearGroups, owner, now }: Settling,
): Promise<GroupsError | null> {
  const isEnd = outcome.kind === 'refused' && isDisabling;
  const kept = { ...row.tokens, ...outcome.tokens };
  const { refreshToken: _refused, ...rest } = kept;
  const settlement: Settlement = {
    // A refused token is not used again, because a user whom an administrator enables must not be
    // disabled ten minutes later. Without the setting it is kept: the setting may be switched on.
    tokens: isEnd ? rest : kept,
    refreshAt:
      isEnd || (outcome.kind === 'failed' && ABANDONED.includes(outcome.error))
        ? null
        : nextRefresh(now),
    ...(outcome.kind === 'good' ? { refreshedAt: now } : {}),
    error: outcome.kind === 'good' ? null : outcome.error.slice(0, 64),
  };
  const { groups } = outcome.kind === 'good' ? outcome : {};
  const { result } = await writeTransaction(database, async (transaction) => {
    actAs(transaction, GATEWAY);
    if (isEnd || groups !== undefined)
      await lockScopes(database, transaction, { configuration: true });
    // The user signed in meanwhile: the refused token is no longer theirs, the groups are older.
    if (!(await settleTokens(database, row, owner, settlement, transaction))) return null;
    const { user_id: userId, provider_id } = identity;
    if (isEnd)
      await disableByProvider(database, userId, methodOf('oidc', provider_id), transaction);
    if (groups === undefined) return null;
    const whose = { userId, identity, authority: groups.authority, hearGroups };
    return takeGroups(database, whose, groups, transaction);
  });
  return result;
}

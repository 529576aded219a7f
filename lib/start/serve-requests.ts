// The second part of the start, when devices are served already: the API and the console, the first
// administrator, and the work beside requests.

import type { Server } from '@hapi/hapi';
import { type Config, readRootless } from '../../config/index.ts';
import { type Gateway, type GatewayFacts, releaseMemory } from '../../dataplane/index.ts';
import {
  type Database,
  type GatewayEgress,
  isDatabaseReadOnly,
  readOrCreateConfiguration,
} from '../../models/index.ts';
import { askedGateway } from './asked-gateway.ts';
import { letInCommand, readAdministration } from '../auth/administrators.ts';
import { forgetLinks } from '../auth/one-time-links.ts';
import { forgetRequests } from '../auth/identity/request.ts';
import { forgetGroups } from '../auth/identity/standing-providers.ts';
import { type RefreshContext, startRefreshing } from '../auth/oidc/refresh.ts';
import { logMetadataDoubts } from '../auth/saml/metadata-findings.ts';
import { refreshDueMetadata } from '../auth/saml/refresh.ts';
import { forgetSessions } from '../auth/sessions.ts';
import { checkupOf } from '../installation/doctor/checkup.ts';
import { type FlowLogExport, NOTHING_REPORTED } from '../observe/flow-log/export.ts';
import type { Followers } from './followers.ts';
import { shrinkDatabase } from '../kit/database/shrinking.ts';
import { forgetHistory, forgetRemovedHistory } from '../observe/history/keeping.ts';
import { RecentTraffic } from '../observe/history/recent-traffic.ts';
import { openConnections } from '../kit/http/checking.ts';
import { Door, listensEverywhere } from '../kit/http/door.ts';
import { HTTP_LIMITS, type HttpLimits, limitsWithin } from '../kit/http/listener.ts';
import { openLocalSocket } from '../kit/http/local-socket.ts';
import { localSocketPath } from '../kit/process/local-socket-path.ts';
import { followCertificate } from '../kit/http/tls.ts';
import type { Mailer } from '../kit/mail/mailer.ts';
import { makeFirstAdministrator } from '../installation/setup/first-administrator.ts';
import { showCredentials } from '../installation/setup/first-credentials.ts';
import {
  type FilePart,
  fileShares,
  type FileShares,
  type Listening,
  nearlyFull,
} from '../observe/file-shares.ts';
import type { Observed, Readiness, Watched } from '../observe/gateway-state.ts';
import { groupsHearer } from '../domain/policy/memberships.ts';
import { watchFailures } from '../domain/policy/watch.ts';
import { Counters } from '../kit/process/counters.ts';
import { FIRST_MS, forgettingTime } from '../kit/process/forgetting.ts';
import { startHourly } from '../kit/process/hourly.ts';
import type { Log } from '../kit/process/log.ts';
import { watchPasta } from '../kit/process/pasta.ts';
import { PendingUsage } from '../reconcile/pending-usage.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { Sampler, type SamplerOptions } from '../reconcile/sampler.ts';
import { forgetEntries } from '../kit/records/audit.ts';
import { forgetOldGateways } from '../kit/records/gateways.ts';
import { ALIKE_FIX, readDifferences } from '../kit/records/gateway-differences.ts';
import {
  effectiveConfiguration,
  type FixedSettings,
} from '../kit/records/effective-configuration.ts';
import { createServer } from './server.ts';
import type { Services } from '../services.ts';
import { forgetUsage } from '../domain/users/usage.ts';

/** How long requests under way may go on when the gateway stops. */
const DRAIN_MS = 1_500;
/** How long after a start memory is given back: the first requests are answered by then. */
const RELEASE_AFTER_MS = 5_000;

/** The gateway that serves devices already. */
export interface Served {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly gateway: Gateway;
  readonly gatewayId: string;
  readonly egress: GatewayEgress;
  /** The public key of the gateway, in base64. */
  readonly publicKey: string;
  readonly fixed: FixedSettings;
  readonly followers: Followers;
  /** Null where what becomes of flows is not reported. */
  readonly flowLog: FlowLogExport | null;
  /** The steps of the stop, the first one last. */
  readonly undo: (() => Promise<void>)[];
}

/** What a caller of `serve` replaces. */
export interface RequestOptions {
  /** Cost of bcrypt. */
  readonly passwordCost?: number;
  /** False if the server does not listen. */
  readonly listens: boolean;
  /** So many times longer an answer waits until its write is in force. */
  readonly patience: number;
  /** The warnings of reading the settings. */
  readonly warnings: readonly string[];
  /** Whether the host is the gateway's own. */
  readonly hasHost: boolean;
}

/** Serves requests. Returns the server, and what reads the files of HTTPS again. */
export async function serveRequests(
  { config, database, log, gateway, gatewayId, egress, publicKey, fixed, ...served }: Served,
  { passwordCost, listens, patience, warnings, hasHost }: RequestOptions,
): Promise<{ readonly server: Server; readonly reload: () => void }> {
  const { followers, flowLog, undo } = served;
  const { reconciler } = followers;
  const recent = new RecentTraffic({ deviceIdOf: (key) => reconciler.deviceIdOf(key) });
  const sampler = samplerOf({ database, gateway, gatewayId, log }, followers, recent);
  const state = { isDraining: false };
  const shared = { config, database, log, counters: new Counters() };
  const mails = await mailerFor(config, shared);
  if (mails !== null) undo.push(() => mails.stop());
  const { pastaFile: file } = readRootless();
  const watching = watchPasta({ ...shared, file, interfaceName: config.wireguardInterface });
  undo.push(async () => watching.stop());
  const httpLimits = limitsWithin(gateway.facts.files);
  const listening: Listening = {};
  const files = () => ({ facts: gateway.facts, sockets: sampler.sockets.sockets ?? {}, listening });
  const server = createServer({
    ...shared,
    ...(mails === null ? {} : { mails }),
    serverPublicKey: publicKey,
    whenApplied: (revision, timeoutMs) => reconciler.whenApplied(revision, timeoutMs * patience),
    readiness: () => ({
      ...readinessOf(gateway, egress, database, reconciler, state.isDraining),
      ...connectionsOf(httpLimits),
      ...fullOf(nearlyFull(files())),
    }),
    httpLimits,
    ...(passwordCost === undefined ? {} : { passwordCost }),
    ...aboutGateway(gatewayId, gateway, sampler, followers, () => fileShares(files())),
    recent,
    flowLog: () => flowLog?.counts ?? NOTHING_REPORTED,
    checkup: checkupOf({
      ...shared,
      warnings,
      hasHost,
      runningTun: () => gateway.facts.tun,
      egress,
    }),
  });
  sampler.start();
  undo.push(() => sampler.stop());

  // This is late on purpose: a start that fails before it has made no password that nobody saw.
  const credentials = await makeFirstAdministrator(config, database, gatewayId, passwordCost);
  try {
    await warnOfNoAdministrator(database, fixed, log);
    const chores = startChores(config, {
      ...shared,
      fixed,
      revision: () => reconciler.appliedRevision,
    });
    undo.push(() => chores.stop());
    const local = { ...shared, httpLimits, listening };
    const close = listens ? await openListeners(server, gateway, local, hasHost) : null;
    if (listens) undo.push(releaseWhatStartTook());
    undo.push(async () => {
      state.isDraining = true;
      await Promise.all([server.stop({ timeout: DRAIN_MS }), close?.(DRAIN_MS)]);
    });
    announce(server, gateway, egress, config, log);
  } finally {
    if (credentials !== null) showCredentials(credentials, config, log);
  }
  const certificate = followCertificate(config, server.listener, log);
  undo.push(async () => certificate.stop());
  return { server, reload: certificate.read };
}

/** Makes the sender of mails; most gateways have none, and load nothing of it. */
async function mailerFor(
  config: Config,
  means: { counters: Counters; log: Log },
): Promise<Mailer | null> {
  if (config.smtpUrl === null) return null;
  return (await import('../kit/mail/mailer.ts')).mailerOf(config, means);
}

/** Logs how to sign in if no administrator can, for example after an import. */
async function warnOfNoAdministrator(
  database: Database,
  fixed: FixedSettings,
  log: Log,
): Promise<void> {
  const settings = effectiveConfiguration(await readOrCreateConfiguration(database), fixed);
  const { canSignIn, email } = await readAdministration(database, settings);
  if (!canSignIn)
    log.warn(
      { help: letInCommand(email) },
      'no administrator can sign in; this command lets one in',
    );
}

/** Starts the work beside requests: forgets old rows, asks identity providers. */
function startChores(
  config: Config,
  context: Pick<RefreshContext, 'database' | 'log' | 'counters' | 'revision'> & {
    readonly fixed: FixedSettings;
  },
): { stop(): Promise<void> } {
  const { database, log, fixed } = context;
  const settings = async () =>
    effectiveConfiguration(await readOrCreateConfiguration(database), fixed);
  const hearGroups = groupsHearer({ services: { config, database, log }, fixed });
  const refreshing = startRefreshing({ ...context, settings, hearGroups });
  const isWaiting = (): boolean => database.later !== null;
  const time = forgettingTime(context);
  const history = forgetHistory(database, config.historyRetention, log, time);
  const doubted = new Map<string, string>();
  const metadata = {
    failure: 'metadata of SAML providers were not fetched',
    run: async () => {
      const { saml_identity_providers: saml } = await settings();
      await refreshDueMetadata(context, saml);
      await logMetadataDoubts(database, log, saml, doubted);
    },
  };
  const comparing = {
    failure: 'the gateways of the database were not compared',
    run: async () => {
      for (const text of await readDifferences(database)) log.warn({ fix: ALIKE_FIX }, text);
    },
  };
  const chores = [
    forgetRequests(context),
    forgetGroups(database, settings, (transaction, write) =>
      watchFailures({ services: { config, database }, fixed }, transaction, write),
    ),
    forgetRemovedHistory(database, log),
    metadata,
    comparing,
  ];
  const old = [
    forgetEntries(database, config.auditRetentionDays, log, time),
    forgetSessions(database, time),
    forgetLinks(database, time),
    forgetUsage(database, time),
  ];
  // Where no history is to be kept, no clock matters.
  (config.historyRetention === 'off' ? chores : old).push(history);
  // After the history, which ends connections to gateways that were killed.
  old.push(forgetOldGateways(database, time), shrinkDatabase(database, log));
  const working = startHourly(chores, log, { isWaiting });
  const forgetting = startHourly(old, log, { firstMs: FIRST_MS, isWaiting });
  return {
    stop: async () => {
      await Promise.all([working.stop(), forgetting.stop(), refreshing.stop()]);
    },
  };
}

/**
 * Gives memory back soon, because starting takes more than serving needs. Not at once: it takes
 * some 100 ms, and whoever started the gateway waits for it. Returns what calls it off.
 */
function releaseWhatStartTook(): () => Promise<void> {
  const timer = setTimeout(releaseMemory, RELEASE_AFTER_MS).unref();
  return async () => clearTimeout(timer);
}

/**
 * Lets devices ask at the gateway's own address where the listener takes what comes to any address.
 * `close` ends it: connections that are open have so many ms.
 */
function openDoor(
  gateway: Gateway,
  { listener, info }: Server,
  { httpHost }: Config,
  { connectionsMax = HTTP_LIMITS.connectionsMax }: Partial<HttpLimits>,
): { readonly open: number; close(drainMs: number): Promise<void> } | null {
  if (!listensEverywhere(httpHost)) return null;
  const door = new Door(listener, connectionsMax);
  const close = gateway.openDoor(Number(info.port), door.take);
  return {
    get open() {
      return door.open;
    },
    close: async (ms) => {
      await door.drain(ms);
      close();
    },
  };
}

/** What listeners are opened with, and where they say how many connections they have. */
type ListenersOptions = Pick<Services, 'config' | 'log' | 'counters'> & {
  readonly httpLimits: Partial<HttpLimits>;
  readonly listening: Listening;
};

/**
 * Listens for requests, for the commands of this host, and for devices at the gateway's own
 * address; the result ends only the last two.
 */
async function openListeners(
  server: Server,
  gateway: Gateway,
  { config, listening, ...shared }: ListenersOptions,
  hasHost: boolean,
): Promise<(drainMs: number) => Promise<void>> {
  await listenForRequests(server, config);
  const counted = (connections: () => number): void => void (listening.commands = connections);
  const local = { ...shared, counted, path: localSocketPath(config), server: server.listener };
  const close = hasHost ? await openLocalSocket(local) : null;
  const door = openDoor(gateway, server, config, shared.httpLimits);
  if (door !== null) listening.own_address = () => door.open;
  listening.requests = () => openConnections(server.listener) - (door?.open ?? 0);
  return async (drainMs) => {
    await Promise.all([close?.(drainMs), door?.close(drainMs)]);
  };
}

async function listenForRequests(server: Server, config: Config): Promise<void> {
  try {
    await server.start();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const where = `${config.httpHost}:${config.httpPort}`;
    throw new Error(
      code === 'EADDRINUSE'
        ? `TCP ${where} is taken; stop what uses it (ss -ltnp) or set HTTP_PORT to another`
        : `the API cannot listen on ${where}: ${message}`,
      { cause: error },
    );
  }
}

function samplerOf(
  options: Omit<SamplerOptions, 'deviceIdOf' | 'onSample' | 'usage'>,
  { reconciler, presence, ...history }: Followers,
  recent: RecentTraffic,
): Sampler {
  const usage = new PendingUsage({
    ...options,
    ownerIdOf: (key) => reconciler.lastOwnerIdOf(key),
    hasQuota: (userId) => reconciler.hasQuota(userId),
  });
  return new Sampler({
    ...options,
    ...history,
    usage,
    deviceIdOf: (key) => reconciler.deviceIdOf(key),
    onSample: (sample) => {
      presence.observe(sample.peers);
      recent.observe(sample);
    },
  });
}

/** What the HTTP server is given of the gateway of this process. */
function aboutGateway(
  id: string,
  gateway: Gateway,
  sampler: Sampler,
  followers: Followers,
  shares: () => FileShares,
): Partial<Services> {
  return {
    observed: observedBy(gateway, sampler, followers.reconciler),
    watched: { ...watchedBy(gateway, sampler, followers), fileShares: shares },
    ...askedGateway(id, gateway, followers),
  };
}

function observedBy(gateway: Gateway, sampler: Sampler, reconciler: Reconciler): Observed {
  return {
    drops: () => sampler.drops,
    forgotten: () => sampler.forgotten,
    answers: () => sampler.answers,
    sockets: () => sampler.sockets,
    rules: () => sampler.rules,
    problems: () => reconciler.problems,
    deviceCount: () => reconciler.deviceCount,
    isBehindDevice: (address) => gateway.hasRouteTo(address),
  };
}

function watchedBy(
  gateway: Gateway,
  sampler: Sampler,
  { reconciler, presence, history }: Followers,
): Watched {
  return {
    facts: () => gateway.facts,
    peers: () => gateway.peers(),
    deviceOf: (publicKey) => reconciler.servedDeviceOf(publicKey),
    ruleActions: () => reconciler.ruleActions(),
    reconciler: () => reconciler.work,
    presence: () => presence.counts,
    isSamplerFailing: () => sampler.isFailing,
    history: () => history?.counts ?? null,
  };
}

function readinessOf(
  { facts }: Gateway,
  egress: GatewayEgress,
  { isFull }: Database,
  reconciler: Reconciler,
  isDraining: boolean,
): Readiness {
  const { alive, tun, tunError } = facts;
  const status = (): Readiness['status'] => {
    if (isDraining) return 'draining';
    if (!alive) return 'data_plane_down';
    if (reconciler.isClosed) return 'database_away';
    if (reconciler.isSchemaNewer) return 'schema_newer';
    if (isDatabaseReadOnly(reconciler.error)) return 'database_read_only';
    if (isFull || reconciler.error !== null || reconciler.isStuck) return 'database_unavailable';
    if (reconciler.appliedRevision < 0) return 'starting';
    return tunError === null ? 'ready' : 'tun_address_missing';
  };
  const found = { status: status(), tun, ...saidOf(egress, facts) };
  return found.status === 'tun_address_missing' && tunError !== null
    ? { ...found, reason: tunError }
    : found;
}

/** How packets leave. A socket has the address of the gateway, as masquerading gives. */
function saidOf(
  { way, reason }: GatewayEgress,
  { masquerade }: GatewayFacts,
): Pick<Readiness, 'masquerade' | 'egress' | 'egress_reason'> {
  const said = { masquerade: masquerade || way === 'sockets', egress: way };
  return reason === null ? said : { ...said, egress_reason: reason };
}

/** How many connections there may be, where that is less than it should be. */
function connectionsOf({ connectionsMax }: Partial<HttpLimits>): Partial<Readiness> {
  return connectionsMax === undefined ? {} : { connections_max: connectionsMax };
}

/** The parts that are nearly full, where there are some. */
function fullOf(parts: readonly FilePart[]): Partial<Readiness> {
  return parts.length === 0 ? {} : { nearly_full: parts };
}

// ---- what the log says -----------------------------------------------------------------------

function announce(
  { info }: Server,
  { facts }: Gateway,
  egress: GatewayEgress,
  { externalUrl }: Config,
  log: Log,
): void {
  const { engine, workers, listenPort: wireguard_port, tun } = facts;
  const said = { wireguard_port, engine, workers, tun, ...saidOf(egress, facts) };
  log.info({ api: info.uri, console: externalUrl, ...said }, 'Postern serves');
}

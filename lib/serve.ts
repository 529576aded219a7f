// Start and stop of the gateway. The start runs step by step. The stop undoes these steps in
// reverse order, also if a later step of the start fails.

import type { Server } from '@hapi/hapi';
import { type Config, openSettings } from '../config/index.ts';
import { createGateway, derivePublicKey, type Gateway, releaseMemory } from '../dataplane/index.ts';
import {
  type Database,
  type GatewayStart,
  isDatabaseReadOnly,
  readOrCreateConfiguration,
  registerGateway,
} from '../models/index.ts';
import { effectiveConfiguration, type FixedSettings } from './records/effective-configuration.ts';
import { fixedSettingsOf } from './configuration/fixed-settings.ts';
import { localSocketPath, openLocalSocket } from './http/local-socket.ts';
import { followCertificate } from './http/tls.ts';
import { showCredentials } from './installation/first-credentials.ts';
import {
  gatewayIdentity,
  makeFirstAdministrator,
  serverPrivateKey,
} from './installation/first-start.ts';
import { letInCommand, readAdministration } from './auth/administrators.ts';
import { forgetRequests } from './auth/identity/request.ts';
import { forgetSessions } from './auth/sessions.ts';
import { startHourly } from './process/hourly.ts';
import { forgetEntries } from './records/audit.ts';
import { forgetHistory, startHistory } from './history/keeping.ts';
import { Counters } from './process/counters.ts';
import { type Log, messageOf } from './process/log.ts';
import { Presence } from './observe/presence.ts';
import type { History } from './reconcile/history.ts';
import { Reconciler, type ReconcilerOptions } from './reconcile/reconciler.ts';
import { Sampler, type SamplerOptions } from './reconcile/sampler.ts';
import type { TranslateSettings } from './reconcile/translate.ts';
import { type FlowLogOptions, NOTHING_REPORTED, startFlowLog } from './flow-log/export.ts';
import type { FlowLogCounts, Observed, Readiness, Watched } from './observe/gateway-state.ts';
import { type Networks, networksOf } from './reconcile/tunnel-networks.ts';
import { askedGateway } from './asked-gateway.ts';
import type { Services } from './services.ts';

/** A gateway that was started. */
export interface Running {
  /** The address at which the API listens. */
  readonly address: string;
  readonly server: Server;
  /** Whether the data plane answers and has its interface. */
  readonly isAlive: () => boolean;
  /** Reads the files of HTTPS again. */
  readonly reload: () => void;
  stop(): Promise<void>;
}

/** What a caller replaces: a gateway in a test has no host of its own, for example. */
export interface Instead {
  readonly createGateway?: typeof createGateway;
  readonly identity?: { readonly id: string; readonly name: string };
  /** Cost of bcrypt. */
  readonly passwordCost?: number;
  /** The warnings of reading the settings. */
  readonly warnings?: readonly string[];
  /** False if the server does not listen: then requests are injected. */
  readonly listens?: boolean;
}

/** How long requests under way may go on when the gateway stops. */
const DRAIN_MS = 1_500;
/** How long the steps of a stop may take together, without the last one. */
const STEPS_MS = 3_000;
/** How long the last step of a stop may take, which closes the data plane. */
const LAST_STEP_MS = 1_200;

/** Starts everything on an open, migrated database. If a step fails, undoes all and rejects. */
export async function serve(
  config: Config,
  database: Database,
  log: Log,
  instead: Instead = {},
): Promise<Running> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    const endAt = performance.now() + STEPS_MS;
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
      const left = Math.max(0, endAt - performance.now());
      await inTime(step, undo.length === 0 ? LAST_STEP_MS : left, log);
    }
  };
  try {
    return await climb({ config, database, log, undo, stop }, instead);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs a step of the stop. After its time the next step begins: the database may hang, say. */
async function inTime(step: () => Promise<void>, limitMs: number, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('it took too long'), limitMs);
  });
  const fault = await Promise.race([step().then(() => null, messageOf), late]);
  clearTimeout(timer);
  if (fault !== null) log.warn({ fault }, 'a step of the stop was given up');
}

interface Climb {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly undo: (() => Promise<void>)[];
  readonly stop: () => Promise<void>;
}

async function climb(
  { config, database, log, undo, stop }: Climb,
  { passwordCost, listens = true, warnings = [], ...instead }: Instead,
): Promise<Running> {
  await readOrCreateConfiguration(database);
  const privateKey = await serverPrivateKey(config, database);
  const identity = instead.identity ?? gatewayIdentity(config);
  const networks = networksOf(config);
  const fixed = fixedSettingsOf(config);
  const publicKey = Buffer.from(derivePublicKey(privateKey)).toString('base64');
  const history = await startHistory({ config, database, log }, identity.id);
  const clockFloorMs = await enterGateway(database, { ...identity, publicKey }, config);

  // The data plane starts in its own thread, while the rows are read here.
  const opening = (instead.createGateway ?? createGateway)({
    ...gatewayOptions(config, networks, log),
    privateKey,
    timestampFloorMs: clockFloorMs,
  });
  undo.push(() => opening.then((gateway) => gateway.close(), ignore));
  const settings = { ...networks, ...rowSettings(config, fixed), gatewayId: identity.id };
  const followed = { database, gateway: opening, settings, clockFloorMs, log };
  const followers = followersOf({ ...followed, awayLimitMs: awayLimitMs(config) }, history);
  const { reconciler } = followers;
  undo.push(() => reconciler.stop());
  const following = reconciler.start();
  following.catch(ignore);
  const gateway = await opening;
  await following;

  // From here on devices are served. The code for requests takes long to load, so it comes after.
  const { createServer } = await import('./server.ts');
  const { checkupOf } = await import('./doctor/checkup.ts');
  const sampler = samplerOf({ database, gateway, gatewayId: identity.id, log }, followers);
  const state = { isDraining: false };
  const shared = { config, database, log, counters: new Counters() };
  const known = { warnings, hasHost: instead.identity === undefined };
  const server = createServer({
    ...shared,
    serverPublicKey: publicKey,
    whenApplied: (revision, timeoutMs) => reconciler.whenApplied(revision, timeoutMs),
    readiness: () => readinessOf(gateway, database, reconciler, state.isDraining),
    ...(passwordCost === undefined ? {} : { passwordCost }),
    ...aboutGateway(identity.id, gateway, sampler, followers),
    flowLog: reportFlows({ config, gateway, gatewayId: identity.id, reconciler, log }, undo),
    checkup: checkupOf({ ...shared, ...known, runningTun: () => gateway.facts.tun }),
  });
  sampler.start();
  undo.push(() => sampler.stop());

  // This is late on purpose: a start that fails before it has made no password that nobody saw.
  const credentials = await makeFirstAdministrator(config, database, identity.id, passwordCost);
  try {
    await warnOfNoAdministrator(database, fixed, log);
    const chores = await startChores(config, { ...shared, fixed });
    undo.push(() => chores.stop());
    if (listens) undo.push(await listen(server, shared, known.hasHost));
    undo.push(async () => {
      state.isDraining = true;
      await server.stop({ timeout: DRAIN_MS });
    });
    announce(server, gateway, config, log);
  } finally {
    if (credentials !== null) showCredentials(credentials, config, log);
  }
  const certificate = followCertificate(config, server.listener, log);
  undo.push(async () => certificate.stop());
  const isAlive = (): boolean => gateway.facts.alive;
  return { address: server.info.uri, server, isAlive, reload: certificate.read, stop };
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

/** Handles a rejection that is also reported by another promise. */
function ignore(): void {}

/** Starts the work beside requests: forgets old rows, asks identity providers. */
async function startChores(
  config: Config,
  context: { database: Database; log: Log; counters: Counters; fixed: FixedSettings },
): Promise<{ stop(): Promise<void> }> {
  const { startRefreshing } = await import('./auth/oidc/refresh.ts');
  const { refreshDueMetadata } = await import('./auth/saml/refresh.ts');
  const { database, log, fixed } = context;
  const settings = async () =>
    effectiveConfiguration(await readOrCreateConfiguration(database), fixed);
  const refreshing = startRefreshing({ ...context, settings });
  const entries = forgetEntries(database, config.auditRetentionDays, log);
  const metadata = {
    failure: 'metadata of SAML providers were not fetched',
    run: async () => refreshDueMetadata(context, (await settings()).saml_identity_providers),
  };
  const history = forgetHistory(database, config.historyRetention, log);
  const chores = [entries, forgetSessions(database), forgetRequests(context), metadata, history];
  const forgetting = startHourly(chores, log);
  return {
    stop: async () => {
      await Promise.all([forgetting.stop(), refreshing.stop()]);
    },
  };
}

/** Writes this start to the database; no handshake initiation may have an earlier time. */
async function enterGateway(
  database: Database,
  start: Omit<GatewayStart, 'startedAt' | 'settings'>,
  config: Config,
): Promise<number> {
  const settings = JSON.stringify(openSettings(config));
  const row = await registerGateway(database, { ...start, settings, startedAt: new Date() });
  return row.clock_floor?.getTime() ?? 0;
}

/** Listens for requests, and for the commands of this host; returns what ends the latter. */
async function listen(
  server: Server,
  { config, log, counters }: Pick<Services, 'config' | 'log' | 'counters'>,
  hasHost: boolean,
): Promise<() => Promise<void>> {
  // Starting took more memory than serving needs, and nobody waits for an answer yet.
  releaseMemory();
  await listenForRequests(server, config);
  if (!hasHost) return async () => undefined;
  const path = localSocketPath(config);
  const close = await openLocalSocket({ log, counters, path, server: server.listener });
  return async () => close();
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

/** The reconciler, which follows the database, and what gets its news. */
interface Followers {
  readonly reconciler: Reconciler;
  readonly presence: Presence;
  /** Left out where none is kept. */
  readonly history?: History;
}

type Followed = Omit<ReconcilerOptions, 'onAmended' | 'onArrivals' | 'wallMs'>;

function followersOf(options: Followed, history: Pick<Followers, 'history'>): Followers {
  const reconciler = new Reconciler({
    ...options,
    onAmended: ({ peers }) => presence.remove(goneFrom(peers)),
    onArrivals: (heardElsewhere) => presence.letGo(heardElsewhere),
    wallMs: () => Date.now(),
  });
  const deviceOf: Watched['deviceOf'] = (key) => reconciler.servedDeviceOf(key);
  const presence = new Presence({ deviceOf, log: options.log, ...history });
  return { reconciler, presence, ...history };
}

function samplerOf(
  options: Omit<SamplerOptions, 'deviceIdOf' | 'onSample'>,
  { reconciler, presence, ...history }: Followers,
): Sampler {
  return new Sampler({
    ...options,
    ...history,
    deviceIdOf: (key) => reconciler.deviceIdOf(key),
    onSample: ({ peers }) => presence.observe(peers),
  });
}

/** What the HTTP server is given of the gateway of this process. */
function aboutGateway(
  id: string,
  gateway: Gateway,
  sampler: Sampler,
  followers: Followers,
): Partial<Services> {
  return {
    observed: observedBy(sampler, followers.reconciler),
    watched: watchedBy(gateway, sampler, followers),
    ...askedGateway(id, gateway, followers),
  };
}

/** Begins to report what becomes of flows, if anybody wants it; returns what is counted of it. */
function reportFlows(
  { reconciler, ...options }: Omit<FlowLogOptions, 'deviceIdOf'> & Pick<Followers, 'reconciler'>,
  undo: Climb['undo'],
): () => FlowLogCounts {
  const deviceIdOf = (key: string): string | null => reconciler.lastDeviceIdOf(key);
  const flowLog = startFlowLog({ ...options, deviceIdOf });
  if (flowLog === null) return () => NOTHING_REPORTED;
  undo.push(() => flowLog.stop());
  return () => flowLog.counts;
}

function observedBy(sampler: Sampler, reconciler: Reconciler): Observed {
  return {
    drops: () => sampler.drops,
    forgotten: () => sampler.forgotten,
    rules: () => sampler.rules,
    problems: () => reconciler.problems,
    deviceCount: () => reconciler.deviceCount,
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

/** The keys of the peers that an amendment removes. */
function goneFrom(peers: ReadonlyMap<string, unknown>): string[] {
  return [...peers].filter(([, peer]) => peer === null).map(([publicKey]) => publicKey);
}

function readinessOf(
  gateway: Gateway,
  { isFull }: Database,
  reconciler: Reconciler,
  isDraining: boolean,
): Readiness {
  const { alive, tun, masquerade } = gateway.facts;
  const status = (): Readiness['status'] => {
    if (isDraining) return 'draining';
    if (!alive) return 'data_plane_down';
    if (reconciler.isClosed) return 'database_away';
    if (isDatabaseReadOnly(reconciler.error)) return 'database_read_only';
    if (isFull || reconciler.error !== null || reconciler.isStuck) return 'database_unavailable';
    return reconciler.appliedRevision < 0 ? 'starting' : 'ready';
  };
  return { status: status(), tun, masquerade };
}

function awayLimitMs({ databaseAwayLimit }: Config): number {
  return (databaseAwayLimit ?? Number.POSITIVE_INFINITY) * 1_000;
}

/** The settings that decide, beside the networks, what rows mean. */
function rowSettings(
  config: Config,
  {
    vpn_session_duration: duration,
    default_client_mtu: mtu,
    default_action: action,
  }: FixedSettings,
): Omit<TranslateSettings, keyof Networks | 'gatewayId'> {
  return {
    requireSignIn: config.vpnSessionRequireSignIn,
    ...(duration === undefined ? {} : { vpnSessionDuration: duration }),
    ...(mtu === undefined ? {} : { defaultClientMtu: mtu }),
    ...(action === undefined ? {} : { defaultAction: action }),
  };
}

// ---- settings in the data plane's words ------------------------------------------------------

function gatewayOptions(
  config: Config,
  networks: Networks,
  log: Log,
): Omit<Parameters<typeof createGateway>[0], 'privateKey' | 'timestampFloorMs'> {
  return {
    listenPort: config.wireguardPort,
    interfaceName: config.wireguardInterface,
    mtu: config.wireguardMtu,
    tun: config.wireguardTun,
    ...networks,
    masqueradeIpv4: config.wireguardIpv4Masquerade,
    masqueradeIpv6: config.wireguardIpv6Masquerade,
    egressInterface: config.gatewayEgressInterface,
    forwarding: config.gatewayForwarding,
    uapi: config.wireguardUapi,
    engine: config.dataplaneEngine,
    workers: config.dataplaneWorkers,
    x25519: config.dataplaneX25519,
    warmsUp: workersWarmUp(config),
    // This applies until the rows are read.
    defaultAction: 'drop',
    allowsMetadata: config.allowCloudMetadata,
    logsFlows: config.flowLog !== 'off',
    log: (level, message) => log[level]({}, message),
  };
}

/** Whether workers compile the packet path before they are ready: that of the native engine. */
export function workersWarmUp({ dataplaneEngine, dataplaneX25519 }: Config): boolean {
  return dataplaneEngine !== 'typescript' && dataplaneX25519 === 'openssl';
}

// ---- what the log says -----------------------------------------------------------------------

function announce({ info }: Server, gateway: Gateway, { externalUrl }: Config, log: Log): void {
  const { engine, workers, listenPort: wireguard_port, tun, masquerade } = gateway.facts;
  log.info(
    { api: info.uri, console: externalUrl, wireguard_port, engine, workers, tun, masquerade },
    'Postern serves',
  );
}

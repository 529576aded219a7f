// Start and stop of the gateway: the init ladder up, the same ladder down. Each step that was taken
// is undone in reverse order, also when a later one fails.

import process from 'node:process';
import type { Server } from '@hapi/hapi';
import type { Config } from '../config/index.ts';
import {
  createGateway,
  derivePublicKey,
  type Gateway,
  type NetworkConfig,
  parseAddress,
} from '../dataplane/index.ts';
import { type Database, readOrCreateConfiguration, registerGateway } from '../models/index.ts';
import { effectiveConfiguration, type FixedSettings } from './api/v0/effective-configuration.ts';
import { fixedSettingsOf } from './api/v0/fixed-settings.ts';
import {
  type FirstCredentials,
  gatewayIdentity,
  makeFirstAdministrator,
  serverPrivateKey,
} from './first-start.ts';
import { forgetRequests } from './auth/identity/request.ts';
import { startRefreshing } from './auth/oidc/refresh.ts';
import { forgetSessions } from './auth/sessions.ts';
import { startHourly } from './hourly.ts';
import { forgetEntries } from './observe/audit.ts';
import { Counters } from './observe/counters.ts';
import { messageOf } from './observe/log.ts';
import { Reconciler } from './reconcile/reconciler.ts';
import { Sampler } from './reconcile/sampler.ts';
import type { TranslateSettings } from './reconcile/translate.ts';
import { createServer } from './server.ts';
import type { Log, Observed, Readiness } from './services.ts';

/** A gateway that serves. */
export interface Running {
  /** Where the API listens. */
  readonly address: string;
  stop(): Promise<void>;
}

/** How long requests under way may go on when the gateway stops. */
const DRAIN_MS = 2_000;
/** How long any step of a stop may take. */
const STEP_MS = 2_500;

/** Starts everything on an open, migrated database; rejects, with all undone, if a step fails. */
export async function serve(config: Config, database: Database, log: Log): Promise<Running> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await inTime(step, log);
  };
  try {
    return await climb(config, database, log, undo, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * A step that does not end, say because the database hangs, must not keep the next from its turn.
 */
async function inTime(step: () => Promise<void>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('it took too long'), STEP_MS);
  });
  const fault = await Promise.race([step().then(() => null, messageOf), late]);
  clearTimeout(timer);
  if (fault !== null) log.warn({ fault }, 'a step of the stop was given up');
}

async function climb(
  config: Config,
  database: Database,
  log: Log,
  undo: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Running> {
  await readOrCreateConfiguration(database);
  const privateKey = await serverPrivateKey(config, database);
  const identity = gatewayIdentity(config);
  const networks = networksOf(config);
  const fixed = fixedSettingsOf(config);
  const clockFloorMs = await enterGateway(database, identity);

  const gateway = await createGateway({
    ...gatewayOptions(config, networks, log),
    privateKey,
    timestampFloorMs: clockFloorMs,
  });
  undo.push(() => gateway.close());

  const reconciler = new Reconciler({
    database,
    gateway,
    settings: { ...networks, ...rowSettings(config, fixed), gatewayId: identity.id },
    clockFloorMs,
    log,
    wallMs: () => Date.now(),
  });
  const deviceIdOf = (key: string): string | null => reconciler.deviceIdOf(key);
  const sampler = new Sampler({ database, gateway, gatewayId: identity.id, deviceIdOf, log });
  const state = { isDraining: false };
  const counters = new Counters();
  const shared = { database, log, counters };
  const server = createServer({
    ...shared,
    config,
    serverPublicKey: Buffer.from(derivePublicKey(privateKey)).toString('base64'),
    whenApplied: (revision, timeoutMs) => reconciler.whenApplied(revision, timeoutMs),
    readiness: () => readinessOf(gateway, reconciler, state.isDraining),
    observed: observedBy(sampler, reconciler),
  });
  undo.push(() => reconciler.stop());
  await reconciler.start();

  sampler.start();
  undo.push(() => sampler.stop());

  const chores = startChores(config, { ...shared, fixed });
  undo.push(() => chores.stop());

  // As late as can be: a start that fails before this leaves nobody with a password unseen.
  const credentials = await makeFirstAdministrator(config, database, identity.id);
  try {
    await listen(server, config);
    undo.push(async () => {
      state.isDraining = true;
      await server.stop({ timeout: DRAIN_MS });
    });
    announce(server, gateway, log);
  } finally {
    if (credentials !== null) tellOnce(credentials, config);
  }
  return { address: server.info.uri, stop };
}

/** What goes on beside requests: old rows are forgotten, OpenID providers asked after accounts. */
function startChores(
  config: Config,
  context: { database: Database; log: Log; counters: Counters; fixed: FixedSettings },
): { stop(): Promise<void> } {
  const { database, log, fixed } = context;
  const settings = async () =>
    effectiveConfiguration(await readOrCreateConfiguration(database), fixed);
  const refreshing = startRefreshing({ ...context, settings });
  const entries = forgetEntries(database, config.auditRetentionDays, log);
  const chores = [entries, forgetSessions(database), forgetRequests(database)];
  const forgetting = startHourly(chores, log);
  return {
    stop: async () => {
      await Promise.all([forgetting.stop(), refreshing.stop()]);
    },
  };
}

/** Enters this start; returns the time before which no initiation may be dated. */
async function enterGateway(
  database: Database,
  identity: { id: string; name: string },
): Promise<number> {
  const row = await registerGateway(database, { ...identity, startedAt: new Date() });
  return row.clock_floor?.getTime() ?? 0;
}

async function listen(server: Server, config: Config): Promise<void> {
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

function observedBy(sampler: Sampler, reconciler: Reconciler): Observed {
  return {
    drops: () => sampler.drops,
    rules: () => sampler.rules,
    problems: () => reconciler.problems,
  };
}

function readinessOf(gateway: Gateway, reconciler: Reconciler, isDraining: boolean): Readiness {
  const { alive, tun, masquerade } = gateway.facts;
  const status = isDraining
    ? 'draining'
    : !alive
      ? 'data_plane_down'
      : reconciler.error !== null || reconciler.isStuck
        ? 'database_unavailable'
        : reconciler.appliedRevision < 0
          ? 'starting'
          : 'ready';
  return { status, tun, masquerade };
}

/** What decides, beside the networks, how rows are read. */
function rowSettings(
  config: Config,
  { vpn_session_duration: duration, default_client_mtu: mtu }: FixedSettings,
): Pick<TranslateSettings, 'requireSignIn' | 'vpnSessionDuration' | 'defaultClientMtu'> {
  return {
    requireSignIn: config.vpnSessionRequireSignIn,
    ...(duration === undefined ? {} : { vpnSessionDuration: duration }),
    ...(mtu === undefined ? {} : { defaultClientMtu: mtu }),
  };
}

// ---- settings in the data plane's words ------------------------------------------------------

interface Networks {
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
}

function networksOf(config: Config): Networks {
  return {
    ipv4: config.wireguardIpv4Enabled
      ? networkOf(config.wireguardIpv4Network, config.wireguardIpv4Address)
      : null,
    ipv6: config.wireguardIpv6Enabled
      ? networkOf(config.wireguardIpv6Network, config.wireguardIpv6Address)
      : null,
  };
}

function networkOf(network: string, address: string): NetworkConfig {
  const [base = '', prefixBits = ''] = network.split('/');
  return { network: bytesOf(base), prefixBits: Number(prefixBits), address: bytesOf(address) };
}

function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (bytes === null) throw new Error(`${address} is no address`);
  return bytes;
}

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
    x25519: config.dataplaneX25519,
    defaultAction: config.defaultAction,
    log: (level, message) => log[level]({}, message),
  };
}

// ---- what a person is told -------------------------------------------------------------------

function announce(server: Server, gateway: Gateway, log: Log): void {
  const { engine, listenPort, tun, masquerade } = gateway.facts;
  log.info(
    { api: server.info.uri, wireguard_port: listenPort, engine, tun, masquerade },
    'Postern serves',
  );
}

/** Not through the log: this is for the person at the console and must not be collected. */
function tellOnce({ email, password, token }: FirstCredentials, config: Config): void {
  process.stdout.write(
    [
      '',
      'This is the first start. These are shown once and kept nowhere:',
      '',
      `  e-mail     ${email}`,
      `  password   ${password}`,
      `  API token  ${token}`,
      '',
      'Try:',
      '',
      `  curl -H 'Authorization: Bearer ${token}' ${config.externalUrl}v0/configuration`,
      '',
      '',
    ].join('\n'),
  );
}

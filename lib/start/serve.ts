// Start and stop of the gateway. The start runs step by step. The stop undoes these steps in
// reverse order, also if a later step of the start fails.

import type { Server } from '@hapi/hapi';
import { type Config, openSettings, readRootless } from '../../config/index.ts';
import { createGateway, derivePublicKey, type Gateway } from '../../dataplane/index.ts';
import {
  beginForgettingClock,
  type Database,
  type GatewayEgress,
  type GatewayStart,
  readOrCreateConfiguration,
  recordEgress,
  registerGateway,
} from '../../models/index.ts';
import { type FlowLogExport, startFlowLog } from '../observe/flow-log/export.ts';
import { followersOf } from './followers.ts';
import { fixedSettingsOf } from '../domain/configuration/fixed-settings.ts';
import { egressOf, whyNoSockets } from '../installation/setup/egress.ts';
import { gatewayIdentity, serverPrivateKey } from '../installation/setup/first-start.ts';
import { startGuarding } from './guarded-servers.ts';
import { startHistory } from '../observe/history/keeping.ts';
import { eachBeat } from '../kit/process/beat.ts';
import type { Log } from '../kit/process/log.ts';
import { messageOf } from '../kit/process/message.ts';
import { sourceFrames } from '../kit/process/source-frames.ts';
import { workersWarmUp } from '../kit/process/warm-up.ts';
import { type Networks, networksOf } from '../reconcile/tunnel-networks.ts';

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
export interface Replaced {
  readonly createGateway?: typeof createGateway;
  readonly identity?: { readonly id: string; readonly name: string };
  /** Cost of bcrypt. */
  readonly passwordCost?: number;
  /** The warnings of reading the settings. */
  readonly warnings?: readonly string[];
  /** False if the server does not listen: then requests are injected. */
  readonly listens?: boolean;
  /** So many times longer an answer waits until its write is in force. */
  readonly patience?: number;
}

/** How long the steps of a stop may take together, without the last one. */
const STEPS_MS = 3_000;
/** How long the last step of a stop may take, which closes the data plane. */
const LAST_STEP_MS = 2_000;

/** Starts everything on an open, migrated database. If a step fails, undoes all and rejects. */
export async function serve(
  config: Config,
  database: Database,
  log: Log,
  instead: Replaced = {},
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
    return await startSteps({ config, database, log, undo, stop }, instead);
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
  const error = await Promise.race([step().then(() => null, messageOf), late]);
  clearTimeout(timer);
  if (error !== null) log.warn({ fault: error }, 'a step of the stop was given up');
}

/** What the steps of a start share. */
interface StartContext {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly undo: (() => Promise<void>)[];
  readonly stop: () => Promise<void>;
}

async function startSteps(
  { config, database, log, undo, stop }: StartContext,
  { passwordCost, listens = true, patience = 1, warnings = [], ...instead }: Replaced,
): Promise<Running> {
  const stored = await readOrCreateConfiguration(database);
  const privateKey = await serverPrivateKey(config, database);
  const identity = instead.identity ?? gatewayIdentity(config);
  const networks = networksOf(config);
  const fixed = fixedSettingsOf(config);
  const publicKey = Buffer.from(derivePublicKey(privateKey)).toString('base64');
  const history = await startHistory({ config, database, log }, identity.id);
  const start = { ...identity, publicKey, startedAt: new Date() };
  let egress: GatewayEgress | null = null;
  const enter = (): Promise<number> => enterGateway(database, { ...start, egress }, config);
  const clockFloorMs = await enter();

  const guarded = await startGuarding({ config, database, log }, () => egress?.way === 'tun');
  undo.push(async () => guarded.stop());
  // The data plane starts in its own thread, while the rows are read here.
  const opening = (instead.createGateway ?? createGateway)({
    ...gatewayOptions(config, networks, log),
    socketsBarred: whyNoSockets(config, !stored.auto_sockets),
    guarded: () => guarded.addresses,
    privateKey,
    timestampFloorMs: clockFloorMs,
  });
  const reporting = opening.then((gateway) => {
    const named = {
      gatewayId: identity.id,
      deviceIdOf: (key: string) => reconciler.lastDeviceIdOf(key),
      ownerIdOf: (key: string) => reconciler.lastOwnerIdOf(key),
    };
    return startFlowLog({ config, gateway, named, log });
  });
  reporting.catch(ignore);
  undo.push(() => closeGateway(opening, reporting));
  const requireSignIn = config.vpnSessionRequireSignIn;
  const settings = { ...networks, fixed, requireSignIn, gatewayId: identity.id };
  const followed = { database, gateway: opening, settings, clockFloorMs, log, enter };
  const followers = followersOf({ ...followed, awayLimitMs: awayLimitMs(config) }, history);
  const { reconciler } = followers;
  undo.push(() => reconciler.stop());
  const following = reconciler.start();
  following.catch(ignore);
  const gateway = await opening;
  const flowLog = await reporting;
  egress = egressOf(gateway.facts, config);
  await Promise.all([following, recordEgress(database, identity.id, egress)]);

  // From here on devices are served. The code for requests takes long to load, so it comes after.
  const gatewayId = identity.id;
  const means = { config, database, log, gateway, gatewayId, egress, publicKey, fixed };
  const { serveRequests } = await import('./serve-requests.ts');
  const { server, reload } = await serveRequests(
    { ...means, followers, flowLog, undo },
    {
      ...(passwordCost === undefined ? {} : { passwordCost }),
      listens,
      patience,
      warnings,
      hasHost: instead.identity === undefined,
    },
  );
  const isAlive = (): boolean => gateway.facts.alive;
  return { address: server.info.uri, server, isAlive, reload, stop };
}

/** Closes the data plane, and reports what becomes of its flows then. */
async function closeGateway(
  opening: Promise<Gateway>,
  reporting: Promise<FlowLogExport | null>,
): Promise<void> {
  const [gateway, flowLog] = await Promise.all([opening.catch(ignore), reporting.catch(ignore)]);
  const closing = gateway?.close() ?? Promise.resolve();
  await flowLog?.stop(closing);
  await closing;
}

/** Handles a rejection that is also reported by another promise. */
function ignore(): void {}

/** Writes this start to the database; no handshake initiation may have an earlier time. */
async function enterGateway(
  database: Database,
  start: Omit<GatewayStart, 'settings'>,
  config: Config,
): Promise<number> {
  const settings = JSON.stringify(openSettings(config));
  await beginForgettingClock(database);
  const row = await registerGateway(database, { ...start, settings });
  return row.clock_floor?.getTime() ?? 0;
}

function awayLimitMs({ databaseAwayLimit }: Config): number {
  return (databaseAwayLimit ?? Number.POSITIVE_INFINITY) * 1_000;
}

// ---- settings in the data plane's words ------------------------------------------------------

function gatewayOptions(
  config: Config,
  networks: Networks,
  log: Log,
): Omit<Parameters<typeof createGateway>[0], 'privateKey' | 'timestampFloorMs'> {
  const { udpSockets, relaysTcp, hostProcess } = readRootless();
  return {
    listenPort: config.wireguardPort,
    udpSockets,
    relaysTcp,
    hostProcess,
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
    warmsUp: workersWarmUp(config),
    // This applies until the rows are read.
    defaultAction: 'drop',
    allowsMetadata: config.allowCloudMetadata,
    logsFlows: config.flowLog !== 'off',
    eachBeat,
    log: (level, message) => log[level]({}, sourceFrames(message)),
  };
}

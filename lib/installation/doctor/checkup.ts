// The findings of the doctor about the gateway in this process, for the dashboard: the checks run
// in the background while somebody looks at the dashboard, and their findings are kept. The host is
// inspected in a thread of its own. A page waits for the first look alone, and not for long.

import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Config } from '../../../config/index.ts';
import type { Database, GatewayEgress } from '../../../models/index.ts';
import type { Log } from '../../kit/process/log.ts';
import { messageOf } from '../../kit/process/message.ts';
import { isOfEarlier } from '../setup/egress.ts';
import { type Finding, warning } from './finding.ts';
import { hostOf, type Inspected } from './host.ts';
import { certificate } from './listening.ts';
import { mail } from './mail.ts';
import { names } from './names.ts';
import { routeTo } from './route.ts';
import { rows } from './rows.ts';
import { folders } from './storage.ts';

/** Beside this file, in whatever language it is: packages hold JavaScript. */
const THREAD = new URL(import.meta.url.replace(/checkup(?=\.\w+$)/, 'host-thread'));
const THREAD_MS_MAX = 30_000;

/** How often is looked at what people fix and want to see fixed. */
const SOON_MS = 60_000;
/** Rows are many: which keys their secrets have is read in each. A mail server may count visits. */
const LATER_MS = 600_000;
const FIRST_MS_MAX = 3_000;

/** One part of what is looked at. */
interface Part {
  readonly keepMs: number;
  readonly look: () => Promise<readonly Finding[]>;
  found: readonly Finding[];
  lookedAtMs: number;
  isLooking: boolean;
  /** The first look; null before it. */
  first: Promise<void> | null;
}

/** The checks of one process. */
export class Checkup {
  readonly #log: Log;
  readonly #parts: readonly Part[];
  /** What is wrong with the route to an address; null: nothing, or there is no host. */
  readonly routeTo: (address: string) => Promise<Finding | null>;

  constructor(
    log: Log,
    looks: readonly (readonly [keepMs: number, look: Part['look']])[],
    askRoute: Checkup['routeTo'] = async () => null,
  ) {
    this.#log = log;
    this.routeTo = askRoute;
    this.#parts = looks.map(([keepMs, look]) => ({
      keepMs,
      look,
      found: [],
      lookedAtMs: -Infinity,
      isLooking: false,
      first: null,
    }));
  }

  /**
   * The findings that are not ok, from the last look. If they are old, the doctor looks again in
   * the background.
   */
  findings(nowMs: number = performance.now()): readonly Finding[] {
    for (const part of this.#parts)
      if (!part.isLooking && nowMs - part.lookedAtMs > part.keepMs) {
        const look = this.#look(part, nowMs);
        part.first ??= look;
      }
    return this.#parts.flatMap(({ found }) => found.filter(({ level }) => level !== 'ok'));
  }

  /** Waits for the first look, but not for long: a page that is there does not move later. */
  async firstLook(): Promise<void> {
    this.findings();
    const looks = Promise.all(this.#parts.flatMap(({ first }) => first ?? []));
    await Promise.race([looks, sleep(FIRST_MS_MAX, undefined, { ref: false })]);
  }

  async #look(part: Part, nowMs: number): Promise<void> {
    part.isLooking = true;
    part.lookedAtMs = nowMs;
    try {
      part.found = await part.look();
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'a check of the dashboard failed');
    } finally {
      part.isLooking = false;
    }
  }
}

/** What there is to look at while a gateway serves. */
export interface Served {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly warnings: readonly string[];
  /** The TUN that the gateway has; null without one. */
  readonly runningTun: () => string | null;
  readonly egress: GatewayEgress;
  /** False for a gateway in a test, which has no host. */
  readonly hasHost: boolean;
}

/** The checks of a gateway that serves. */
export function checkupOf(served: Served): Checkup {
  const { config, database, log, warnings, runningTun, egress, hasHost } = served;
  const host = async (): Promise<Finding[]> =>
    inspectInThread({
      ...hostOf(config, await isOfEarlier(database)),
      isRunning: true,
      runningTun: runningTun(),
      runsBySockets: egress.way === 'sockets' ? (egress.reason ?? '') : null,
    });
  const near = async (): Promise<Finding[]> => [
    ...warnings.map((message) => warning('settings', message, null)),
    ...certificate(config),
    ...(await names(config)),
    ...folders(config),
  ];
  const looks = [
    [SOON_MS, near],
    ...(hasHost ? [[SOON_MS, host] as const] : []),
    [LATER_MS, () => rows(database, config)],
    [LATER_MS, () => mail(config)],
  ] as const;
  return new Checkup(log, looks, hasHost ? (address) => routeTo(address) : undefined);
}

/** Inspects the host in a thread that ends with it. */
export async function inspectInThread(inspected: Inspected): Promise<Finding[]> {
  const worker = new Worker(THREAD, { workerData: inspected });
  worker.unref();
  const timer = setTimeout(() => void worker.terminate(), THREAD_MS_MAX);
  timer.unref();
  try {
    return await new Promise<Finding[]>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the thread that inspects the host ended')));
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

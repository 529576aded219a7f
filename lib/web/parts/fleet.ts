// What the dashboard shows. For all devices: how many are online, the traffic of this moment, and
// the latest handshakes. For this gateway: what it refused, and which rows it cannot obey. These
// values are read at most twice a second, however many people look.

import {
  isToCome,
  readDevices,
  readFleetStatus,
  readLatestHandshakes,
  type FleetStatus,
} from '../../../models/index.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import type { Services } from '../../services.ts';
import { deviceStatusView, serviceRules } from './device-status.ts';
import type { GatewayProblem } from './gateway-problems.ts';
import { ownerEmails } from './owners.ts';
import { isOfDevices, reasonInWords } from '../../domain/policy/reason-words.ts';
import { inOrder } from '../kit/searched.ts';
import { bytesInWords } from '../kit/words.ts';

/** How long a reading is used. */
const KEEP_MS = 500;
/** The traffic is the mean of these last milliseconds, because gateways report once a second. */
const RATE_MS = 4_000;
const READINGS_MAX = 20;
const HANDSHAKES = 8;
const PROBLEMS = 20;

/** What the dashboard shows. */
export interface FleetView {
  /** Unix time in ms. */
  readonly at: number;
  readonly online: string;
  readonly devices: string;
  readonly down: string;
  readonly up: string;
  readonly dropped: string;
  /** Refused packets of devices. */
  readonly drops: readonly Drops[];
  /** Refused packets and messages of strangers and of this host. */
  readonly others: readonly Drops[];
  /** What this gateway lacks. */
  readonly gateway: readonly GatewayProblem[];
  /** Rows that it cannot obey. */
  readonly problems: readonly Problem[];
  /** How many more rows there are that it cannot obey. */
  readonly problemsMore: number;
  readonly handshakes: readonly Handshake[];
}

/** Packets and messages that were refused for one reason. */
interface Drops {
  readonly reason: string;
  /** What the reason means. */
  readonly words: string;
  readonly count: string;
}

interface Problem {
  readonly path: string;
  readonly name: string;
  readonly message: string;
}

interface Handshake {
  readonly path: string;
  readonly name: string;
  readonly owner: string;
  readonly time: string;
  readonly remote: string;
}

interface Reading extends FleetStatus {
  readonly atMs: number;
}

/** What the dashboard needs besides rows and packets. */
interface Asked {
  readonly sessions: () => Promise<SessionRules>;
  readonly problems: () => Promise<GatewayProblem[]>;
}

/** Reads what the dashboards of one process show. */
export class Fleet {
  readonly #services: Pick<Services, 'database' | 'observed'>;
  readonly #asked: Asked;
  readonly #readings: Reading[] = [];
  #last: { readonly untilMs: number; readonly view: Promise<FleetView> } | null = null;

  constructor(services: Pick<Services, 'database' | 'observed'>, asked: Asked) {
    this.#services = services;
    this.#asked = asked;
  }

  /** The present view. */
  read(nowMs = Date.now()): Promise<FleetView> {
    if (this.#last !== null && isToCome(this.#last.untilMs, KEEP_MS, nowMs)) return this.#last.view;
    const view = this.#read(nowMs);
    const reading = { untilMs: nowMs + KEEP_MS, view };
    this.#last = reading;
    // A failure must not be remembered.
    view.catch(() => {
      if (this.#last === reading) this.#last = null;
    });
    return view;
  }

  async #read(nowMs: number): Promise<FleetView> {
    const { database, observed } = this.#services;
    const status = await readFleetStatus(
      database,
      serviceRules(await this.#asked.sessions(), nowMs),
    );
    const { down, up } = this.#rates({ ...status, atMs: nowMs });
    const all = Object.entries(observed?.drops() ?? {}).toSorted(([, a], [, b]) => b - a);
    const drops = all.filter(([reason]) => isOfDevices(reason));
    const problems = observed?.problems() ?? [];
    const dropped = drops.reduce((sum, [, count]) => sum + count, 0);
    return {
      at: nowMs,
      online: String(status.online),
      devices: String(status.devices),
      down: `${bytesInWords(down)}/s`,
      up: `${bytesInWords(up)}/s`,
      dropped: dropped.toLocaleString('en'),
      drops: drops.map(shownDrops),
      others: all.filter(([reason]) => !isOfDevices(reason)).map(shownDrops),
      gateway: await this.#asked.problems(),
      problems: problems.slice(0, PROBLEMS).map(({ table, id, message }) => ({
        path: `/${table}/${id}`,
        name: table === 'devices' ? 'Device' : 'Rule',
        message,
      })),
      problemsMore: Math.max(0, problems.length - PROBLEMS),
      handshakes: await this.#handshakes(),
    };
  }

  /** Bytes a second over the last readings; down is what was sent to devices. */
  #rates(reading: Reading): { down: number; up: number } {
    const readings = this.#readings;
    readings.push(reading);
    while (
      readings.length > READINGS_MAX ||
      (readings.length > 2 && (readings[1]?.atMs ?? 0) <= reading.atMs - RATE_MS)
    )
      readings.shift();
    const [first = reading] = readings;
    const seconds = (reading.atMs - first.atMs) / 1_000;
    // Nobody looked for a while, or the clock was set back: only the next reading gives a rate.
    if (seconds <= 0 || seconds > 2 * (RATE_MS / 1_000)) {
      readings.splice(0, readings.length, reading);
      return { down: 0, up: 0 };
    }
    // The sum falls when a device is deleted.
    const rate = (before: number, after: number): number =>
      Math.round(Math.max(0, after - before) / seconds);
    return {
      down: rate(first.txBytes, reading.txBytes),
      up: rate(first.rxBytes, reading.rxBytes),
    };
  }

  async #handshakes(): Promise<Handshake[]> {
    const { database } = this.#services;
    const ids = await readLatestHandshakes(database, HANDSHAKES);
    const devices = inOrder(ids, await readDevices(database, { ids }));
    const emails = await ownerEmails(database, devices);
    return devices.map((device) => {
      const { handshake, remote } = deviceStatusView(device);
      const owner = emails.get(device.user_id) ?? '';
      return {
        path: `/devices/${device.id}`,
        name: device.name,
        owner,
        time: handshake ?? '',
        remote,
      };
    });
  }
}

function shownDrops([reason, count]: [string, number]): Drops {
  return {
    reason: reason.replaceAll('_', ' '),
    words: reasonInWords(reason),
    count: count.toLocaleString('en'),
  };
}

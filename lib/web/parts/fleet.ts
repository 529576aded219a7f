// What the dashboard shows. For all devices: how many are online, the traffic of this moment, and
// the latest handshakes. For this gateway: what it refused, and which rows it cannot obey. These
// values are read at most twice a second, however many people look.

import {
  isToCome,
  readDevices,
  readFleetStatus,
  readLatestHandshakes,
} from '../../../models/index.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { serviceRules } from '../../observe/service-rules.ts';
import type { RecentTraffic } from '../../observe/history/recent-traffic.ts';
import type { Services } from '../../services.ts';
import { deviceStatusView } from './device-status.ts';
import type { GatewayProblem } from './gateway-problems.ts';
import { ownerEmails } from './owners.ts';
import { isOfDevices, reasonInWords } from '../../domain/policy/reason-words.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import { bytesInWords } from '../kit/words.ts';
import { type Rate, Rates, type Totals } from './rates.ts';

/** How long a reading is used. */
const KEEP_MS = 500;
const HANDSHAKES = 8;
const PROBLEMS = 20;

/** What the dashboard shows. */
export interface FleetView {
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

/** What the dashboard needs besides rows and packets. */
interface Asked {
  readonly sessions: () => Promise<SessionRules>;
  readonly problems: () => Promise<GatewayProblem[]>;
}

/** What it reads from: `recent` is what this gateway carried lately. */
interface FleetServices extends Pick<Services, 'database' | 'observed'> {
  readonly recent?: Pick<RecentTraffic, 'live'>;
}

/** Reads what the dashboards of one process show. */
export class Fleet {
  readonly #services: FleetServices;
  readonly #asked: Asked;
  readonly #rates = new Rates();
  #last: { readonly untilMs: number; readonly view: Promise<FleetView> } | null = null;

  constructor(services: FleetServices, asked: Asked) {
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
    const { down, up } = this.#rate({ ...status, atMs: nowMs });
    const all = Object.entries(observed?.drops() ?? {}).toSorted(([, a], [, b]) => b - a);
    const drops = all.filter(([reason]) => isOfDevices(reason));
    const problems = observed?.problems() ?? [];
    const dropped = drops.reduce((sum, [, count]) => sum + count, 0);
    return {
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

  /** Where nobody looked just before, the latest step of this gateway is what is known. */
  #rate(totals: Totals): Rate {
    const rate = this.#rates.note('', totals);
    if (rate.down > 0 || rate.up > 0) return rate;
    const { down = [], up = [] } = this.#services.recent?.live(null) ?? {};
    return { down: down.at(-1) ?? 0, up: up.at(-1) ?? 0 };
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

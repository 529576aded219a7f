// The live values of pages: one sampler for the whole process asks the database once a second for
// all devices that somebody looks at, and sends each looker what concerns them. Nothing is asked
// while nobody looks. A stream ends with the session that opened it, with the device, and with the
// server.

import { Readable } from 'node:stream';
import { type Database, Op } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { Recall } from '../../kit/records/recall.ts';
import type { LiveSession } from '../../auth/sessions.ts';
import { isAlive } from '../../kit/records/session-life.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { describeError } from '../../kit/process/log.ts';
import type { Services } from '../../services.ts';
import { readOthersRunning } from '../../observe/whereabouts.ts';
import { deviceStatusView, type SeenDevice, stopOf } from './device-status.ts';
import { Fleet, type FleetView } from './fleet.ts';
import { type Asked, dashboardProblems } from './gateway-problems.ts';

const SAMPLE_MS = 1_000;
/** Streams of one process, and of one session: more windows than a person looks at. */
const STREAMS_MAX = 1_000;
const STREAMS_PER_SESSION_MAX = 12;
/** What a looker may leave unread, who is then cut off: some minutes of values. */
const UNREAD_BYTES_MAX = 65_536;

/** One window that shows a device, or all of them together. */
interface Looker {
  /** Null: the fleet. */
  readonly deviceId: string | null;
  readonly sessionId: string;
  readonly stream: Readable;
  /** When the latest step began that was sent, Unix time in seconds. */
  sentS: number;
}

/** Whether other gateways serve the database too; charts then say that they show one of several. */
export async function isOneOfSeveral({
  database,
  live,
}: Pick<Services, 'database' | 'live'>): Promise<boolean> {
  return live !== undefined && (await readOthersRunning(database, live.id)).length > 0;
}

const NEVER_SEEN: SeenDevice = {
  latest_handshake: null,
  remote_ip: null,
  remote_port: null,
  rx_bytes: null,
  tx_bytes: null,
};

/** The live values of one process. */
export class LiveStatus {
  readonly #config: Services['config'];
  readonly #recall: Recall;
  readonly #database: Database;
  readonly #log: Services['log'];
  readonly #fleet: Fleet;
  readonly #recent: Services['recent'];
  readonly #lookers = new Set<Looker>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(
    services: Pick<Services, 'database' | 'log' | 'observed' | 'recent'> & Asked,
    recall: Recall,
  ) {
    this.#config = services.config;
    this.#recall = recall;
    this.#database = services.database;
    this.#log = services.log;
    this.#recent = services.recent;
    this.#fleet = new Fleet(services, {
      sessions: () => this.#sessions(),
      problems: () => dashboardProblems({ services, recall }),
    });
  }

  /** All devices together, at this moment. */
  fleet(): Promise<FleetView> {
    return this.#fleet.read();
  }

  /**
   * A stream of server-sent events about a device, or, for null, about all of them: `status` once a
   * second, `end` where there is nothing more to come. The caller has checked that the session may
   * see it.
   */
  follow(deviceId: string | null, sessionId: string): Readable {
    const ofSession = [...this.#lookers].filter((looker) => looker.sessionId === sessionId);
    if (this.#lookers.size >= STREAMS_MAX || ofSession.length >= STREAMS_PER_SESSION_MAX)
      throw new ApiError('too_many_requests', {
        reason: 'too_many_live_pages',
        detail: 'too many live pages',
      });
    const stream = new Readable({ read: () => undefined, highWaterMark: UNREAD_BYTES_MAX });
    const looker = { deviceId, sessionId, stream, sentS: 0 };
    stream.once('close', () => this.#lookers.delete(looker));
    if (this.#isClosed) {
      stream.push(null);
      return stream;
    }
    this.#lookers.add(looker);
    this.#plan(0);
    return stream;
  }

  /** How many look at present. */
  get lookers(): number {
    return this.#lookers.size;
  }

  /** Ends all streams; later ones end at once. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    // Without `end`: browsers ask again, and find the gateway that was started in its place.
    for (const looker of this.#lookers) this.#finish(looker);
  }

  #plan(delayMs: number): void {
    if (this.#timer !== null || this.#isClosed || this.#lookers.size === 0) return;
    this.#timer = setTimeout(() => {
      void this.#sample().finally(() => {
        this.#timer = null;
        this.#plan(SAMPLE_MS);
      });
    }, delayMs);
  }

  /** Never rejects; while the database is away there is nothing to tell. */
  async #sample(): Promise<void> {
    const lookers = [...this.#lookers];
    try {
      const sessions = await this.#liveSessions(lookers);
      const views = await this.#views(lookers);
      for (const looker of lookers) {
        const view = views.get(looker.deviceId);
        if (view === undefined || !sessions.has(looker.sessionId)) {
          this.#send(looker, 'event: end\ndata: {}\n\n');
          this.#finish(looker);
        } else this.#send(looker, `event: status\ndata: ${this.#withChart(looker, view)}\n\n`);
      }
    } catch (error) {
      this.#log.warn({ err: describeError(error) }, 'live values could not be read');
      for (const looker of lookers) this.#send(looker, ': the database is out of reach\n\n');
    }
  }

  /** Adds the steps of the chart that the looker has not: with the first event all of them. */
  #withChart(looker: Looker, view: string): string {
    if (this.#recent === undefined) return view;
    const chart = this.#recent.live(looker.deviceId, looker.sentS);
    // The latest one may not be over, and is sent again.
    looker.sentS = Math.max(looker.sentS, chart.from + (chart.down.length - 1) * chart.step);
    return `${view.slice(0, -1)},"chart":${JSON.stringify(chart)}}`;
  }

  async #liveSessions(lookers: readonly Looker[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(lookers.map(({ sessionId }) => sessionId))];
    const rows = await this.#database.models.Session.findAll({
      where: { id: { [Op.in]: ids } },
      include: [{ association: 'user', required: true }],
    });
    const nowMs = Date.now();
    const alive = (rows as LiveSession[]).filter((row) => isAlive(row, nowMs));
    return new Set(alive.map(({ id }) => id));
  }

  /** What lookers are sent, by what they look at. */
  async #views(lookers: readonly Looker[]): Promise<ReadonlyMap<string | null, string>> {
    const views = new Map<string | null, string>();
    const devices = await this.#seenDevices(lookers);
    const at = Date.now();
    const sessions = devices.length === 0 ? null : await this.#sessions();
    for (const { id, status, user, ...device } of devices) {
      const stop = sessions === null ? null : stopOf(device, user, sessions, at);
      views.set(id, JSON.stringify({ ...deviceStatusView(status, stop, at), at }));
    }
    if (lookers.some(({ deviceId }) => deviceId === null))
      views.set(null, JSON.stringify(await this.#fleet.read()));
    return views;
  }

  /** How long sessions are at present. */
  async #sessions(): Promise<SessionRules> {
    await this.#recall.refresh();
    return { configuration: await this.#recall.configuration(), config: this.#config };
  }

  /** Devices that are there, with their owners and statuses. */
  async #seenDevices(lookers: readonly Looker[]) {
    const wanted = lookers.map(({ deviceId }) => deviceId).filter((id) => id !== null);
    const ids = [...new Set(wanted)];
    if (ids.length === 0) return [];
    const rows = await this.#database.models.Device.findAll({
      attributes: ['id', 'disabled_at', 'expires_at'],
      where: { id: { [Op.in]: ids } },
      include: [
        { association: 'status', required: false },
        { association: 'user', required: true },
      ],
    });
    return rows.flatMap(({ id, disabled_at, expires_at, status, user }) =>
      user === undefined
        ? []
        : [{ id, disabled_at, expires_at, status: status ?? NEVER_SEEN, user }],
    );
  }

  /** Nothing follows the end of a stream, which may come while the database is asked. */
  #send(looker: Looker, text: string): void {
    if (!this.#lookers.has(looker)) return;
    looker.stream.push(text);
    if (looker.stream.readableLength > UNREAD_BYTES_MAX) looker.stream.destroy();
  }

  #finish(looker: Looker): void {
    if (this.#lookers.delete(looker)) looker.stream.push(null);
  }
}

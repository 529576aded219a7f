// The live values of pages: one sampler for the whole process asks once a second for all devices
// and lists that somebody looks at, and sends each looker what concerns them. Nothing is asked
// while nobody looks. A stream ends with the session that opened it, the device, and the server.

import { Readable } from 'node:stream';
import { type Database, hasOtherRunning, Op } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { Recall } from '../../kit/records/recall.ts';
import type { LiveSession, Viewer } from '../../auth/sessions.ts';
import { isAlive } from '../../kit/records/session-life.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { describeError } from '../../kit/process/log.ts';
import type { Services } from '../../services.ts';
import { Fleet, type FleetView } from './fleet.ts';
import { type Asked, dashboardProblems } from './gateway-problems.ts';
import { readWatched, watchedStatus } from './live-devices.ts';
import { type LiveValues, liveValues, ValueNews } from './live-values.ts';
import { type LiveList, type LivePage, PageNews } from './live-list.ts';

const SAMPLE_MS = 1_000;
/** Streams of one process, and how many of them administrators alone may have. */
const STREAMS_MAX = 1_000;
const STREAMS_OF_ADMINISTRATORS = 200;
/** Streams of one user in all browsers: more windows than a person looks at. */
const STREAMS_PER_USER_MAX = 24;
/** What a looker may leave unread, who is then cut off: minutes, or seconds of a busy list. */
const UNREAD_BYTES_MAX = 65_536;
/** After so many seconds without news a comment says that the stream is there, also to proxies. */
const QUIET_MAX = 15;
const COMMENT = ':\n\n';
const END = 'event: end\ndata: {}\n\n';

/** One window that shows a device, all of them together, or a list. */
interface Looker {
  /** Null: the fleet. */
  readonly deviceId: string | null;
  readonly list: Listed | null;
  readonly values: ValueNews;
  readonly viewer: Viewer;
  readonly stream: Readable;
  /** When the latest step began that was sent, Unix time in seconds. */
  sentS: number;
  /** For how many seconds nothing was sent. */
  quiet: number;
}

/** A list that a window shows. */
interface Listed {
  readonly list: LiveList;
  readonly page: LivePage;
  readonly news: PageNews;
}

/** What lookers are sent of a device, or of all of them. */
interface View {
  /** Whose the device is at this moment. */
  readonly ownerId: string | null;
  readonly values: LiveValues;
}

/** Whether other gateways serve the database too; charts then say that they show one of several. */
export async function isOneOfSeveral({
  database,
  live,
}: Pick<Services, 'database' | 'live'>): Promise<boolean> {
  return live !== undefined && (await hasOtherRunning(database, live.id));
}

/** The live values of one process. */
export class LiveStatus {
  readonly #config: Services['config'];
  readonly #recall: Recall;
  readonly #database: Database;
  readonly #log: Services['log'];
  readonly #fleet: Fleet;
  readonly #recent: Services['recent'];
  /** The first event of each stream: a page whose scripts are of another version says so. */
  readonly #greeting: string;
  readonly #lookers = new Set<Looker>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(
    services: Pick<Services, 'database' | 'log' | 'observed' | 'recent'> & Asked,
    recall: Recall,
    version: string,
  ) {
    this.#greeting = `event: version\ndata: ${version}\n\n`;
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
   * A stream of server-sent events about a device, or, for null, about all of them: `version` of
   * the console's files; `status` with all values, then with those that changed; `end` where there
   * is nothing more to come. The caller has checked that the session may see it.
   */
  follow(deviceId: string | null, viewer: Viewer): Readable {
    return this.#look({ deviceId, list: null }, viewer);
  }

  /** Such a stream about a page of a list: `rows` where something is new there. */
  followList(list: LiveList, page: LivePage, viewer: Viewer): Readable {
    const news = new PageNews(page, list);
    return this.#look({ deviceId: null, list: { list, page, news } }, viewer);
  }

  #look(what: Pick<Looker, 'deviceId' | 'list'>, viewer: Viewer): Readable {
    const { userId, isAdministrator } = viewer;
    const ofUser = [...this.#lookers].filter((looker) => looker.viewer.userId === userId);
    const most = isAdministrator ? STREAMS_MAX : STREAMS_MAX - STREAMS_OF_ADMINISTRATORS;
    if (this.#lookers.size >= most || ofUser.length >= STREAMS_PER_USER_MAX)
      throw new ApiError('too_many_requests', {
        reason: 'too_many_live_pages',
        detail: 'too many live pages',
      });
    const stream = new Readable({ read: () => undefined, highWaterMark: UNREAD_BYTES_MAX });
    const looker = { ...what, values: new ValueNews(), viewer, stream, sentS: 0, quiet: 0 };
    stream.once('close', () => this.#lookers.delete(looker));
    if (this.#isClosed) {
      stream.push(null);
      return stream;
    }
    stream.push(this.#greeting);
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
      const mayLook = ({ deviceId, list, viewer }: Looker): boolean => {
        const session = sessions.get(viewer.sessionId);
        const isFree = list === null ? deviceId !== null : !list.list.isForAdministrators;
        return session !== undefined && (isFree || session.user.role === 'admin');
      };
      const allowed = lookers.filter(mayLook);
      for (const looker of lookers) if (!mayLook(looker)) this.#end(looker);
      const views = await this.#views(allowed);
      for (const looker of allowed.filter(({ list }) => list === null)) {
        const view = views.get(looker.deviceId);
        const isAdministrator = sessions.get(looker.viewer.sessionId)?.user.role === 'admin';
        const isOwn = view?.ownerId === looker.viewer.userId;
        if (view === undefined || !(isAdministrator || isOwn)) this.#end(looker);
        // Steps of a chart are sent once, so they cannot wait.
        else this.#tell(looker, 'status', looker.values.next(view.values, this.#chart(looker)));
      }
      await this.#tellLists(allowed);
    } catch (error) {
      this.#log.warn({ err: describeError(error) }, 'live values could not be read');
      for (const looker of lookers) this.#send(looker, ': the database is out of reach\n\n');
    }
  }

  /** Reads each list once for all who look at it, and sends each what is new to them. */
  async #tellLists(lookers: readonly Looker[]): Promise<void> {
    const shown = lookers.flatMap((looker) =>
      looker.list === null ? [] : [{ looker, ...looker.list }],
    );
    for (const [list, some] of Map.groupBy(shown, ({ list: one }) => one))
      try {
        const pages = some.map(({ page }) => page);
        const read = await list.read(pages, Date.now());
        for (const { looker, page, news } of some) {
          const rows = read.get(page);
          this.#tell(looker, 'rows', rows === undefined ? null : news.next(rows));
        }
      } catch (error) {
        // The other lists go on.
        this.#log.warn({ err: describeError(error) }, 'a live list could not be read');
        for (const { looker } of some) this.#send(looker, ': this list could not be read\n\n');
      }
  }

  /** The steps of the chart that the looker has not: with the first event all of them. */
  #chart(looker: Looker): LiveValues {
    if (this.#recent === undefined) return new Map();
    const chart = this.#recent.live(looker.deviceId, looker.sentS);
    // The latest one may not be over, and is sent again.
    looker.sentS = Math.max(looker.sentS, chart.from + (chart.down.length - 1) * chart.step);
    return liveValues({ chart });
  }

  async #liveSessions(lookers: readonly Looker[]): Promise<ReadonlyMap<string, LiveSession>> {
    const ids = [...new Set(lookers.map(({ viewer }) => viewer.sessionId))];
    const rows = await this.#database.models.Session.findAll({
      where: { id: { [Op.in]: ids } },
      include: [{ association: 'user', required: true }],
    });
    const nowMs = Date.now();
    const alive = (rows as LiveSession[]).filter((row) => isAlive(row, nowMs));
    return new Map(alive.map((session) => [session.id, session]));
  }

  /** What lookers are sent, by what they look at. */
  async #views(lookers: readonly Looker[]): Promise<ReadonlyMap<string | null, View>> {
    const views = new Map<string | null, View>();
    const ids = new Set(lookers.map(({ deviceId }) => deviceId).filter((id) => id !== null));
    const devices = await readWatched(this.#database, { id: [...ids] });
    const at = Date.now();
    const rules = devices.length === 0 ? null : await this.#sessions();
    for (const device of devices)
      if (rules !== null)
        views.set(device.id, {
          ownerId: device.user_id,
          values: liveValues(watchedStatus(device, rules, at)),
        });
    if (lookers.some(({ deviceId, list }) => deviceId === null && list === null))
      views.set(null, { ownerId: null, values: liveValues(await this.#fleet.read()) });
    return views;
  }

  /** How long sessions are at present. */
  async #sessions(): Promise<SessionRules> {
    await this.#recall.refresh();
    return { configuration: await this.#recall.configuration(), config: this.#config };
  }

  /** Sends an event; null: there is no news. */
  #tell(looker: Looker, event: 'status' | 'rows', data: string | null): void {
    looker.quiet = data === null ? looker.quiet + 1 : 0;
    if (data !== null) this.#send(looker, `event: ${event}\ndata: ${data}\n\n`);
    else if (looker.quiet % QUIET_MAX === 0) this.#send(looker, COMMENT);
  }

  /** Nothing follows the end of a stream, which may come while the database is asked. */
  #send(looker: Looker, text: string): void {
    if (!this.#lookers.has(looker)) return;
    looker.stream.push(text);
    if (looker.stream.readableLength > UNREAD_BYTES_MAX) looker.stream.destroy();
  }

  #end(looker: Looker): void {
    this.#send(looker, END);
    this.#finish(looker);
  }

  #finish(looker: Looker): void {
    if (this.#lookers.delete(looker)) looker.stream.push(null);
  }
}

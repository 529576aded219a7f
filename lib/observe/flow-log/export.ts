// Takes what becomes of flows from the data plane and reports it, some at a time, so that requests
// have their turn meanwhile. Flows that come faster wait in the rings of the workers, which count
// the flows that they lose.

import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { type Config, flowCollectorOf } from '../../../config/index.ts';
import type { Gateway, LoggedFlow } from '../../../dataplane/index.ts';
import type { FlowLogCounts } from '../gateway-state.ts';
import type { Log } from '../../kit/process/log.ts';
import type { FlowTarget, NamedInLines } from './targets.ts';

/** How often the rings are looked at, and how often when the data plane stops. */
const LOOK_MS = 100;
const LAST_LOOK_MS = 1;
/** Records that are taken in one turn of the main thread, and in one look. */
const RECORDS_PER_TURN = 128;
const RECORDS_PER_LOOK = 4_096;

/** What is counted where nothing is reported. */
export const NOTHING_REPORTED: FlowLogCounts = {
  records: { opened: 0, ended: 0, refused: 0 },
  lost: { ring_full: 0, device_share: 0, unsent: 0 },
};

/** What a flow log is made from. */
export interface FlowLogOptions {
  readonly config: Pick<Config, 'flowLog'>;
  readonly gateway: Pick<Gateway, 'flowLog'>;
  /** What lines of the log name. */
  readonly named: NamedInLines;
  readonly log: Log;
}

/** Begins to report; null where nothing is reported, and then nothing of it is loaded. */
export async function startFlowLog(options: FlowLogOptions): Promise<FlowLogExport | null> {
  const { config, gateway, named, log } = options;
  if (gateway.flowLog === null) return null;
  const { IpfixTarget, LogTarget } = await import('./targets.ts');
  const collector = flowCollectorOf(config.flowLog);
  const target =
    collector === null
      ? new LogTarget(log, named)
      : new IpfixTarget(collector, named.gatewayId, log);
  const reporting = new FlowLogExport(gateway.flowLog, target, log);
  reporting.start();
  return reporting;
}

/** Reports what becomes of flows. */
export class FlowLogExport {
  readonly #source: NonNullable<Gateway['flowLog']>;
  readonly #target: FlowTarget;
  readonly #log: Pick<Log, 'warn'>;
  readonly #records: Record<LoggedFlow['event'], number> = { opened: 0, ended: 0, refused: 0 };
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(source: NonNullable<Gateway['flowLog']>, target: FlowTarget, log: Pick<Log, 'warn'>) {
    this.#source = source;
    this.#target = target;
    this.#log = log;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.look();
      void this.#looking.then(() => {
        if (!this.#isStopped) this.start();
      });
    }, LOOK_MS).unref();
  }

  /** Reports what waits, at most RECORDS_PER_LOOK; returns whether there may be more. */
  async look(): Promise<boolean> {
    let taken = 0;
    for (; taken < RECORDS_PER_LOOK; taken++) {
      const flow = this.#source.take();
      if (flow === null) break;
      this.#records[flow.event]++;
      this.#target.take(flow);
      if ((taken + 1) % RECORDS_PER_TURN === 0) await turn();
    }
    this.#target.flush();
    return taken === RECORDS_PER_LOOK;
  }

  /** Reports what the data plane writes while it closes, which ends all flows; then it ends. */
  async stop(closing: Promise<void>): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    this.#target.hurry();
    const before = this.#sumLost();
    let isClosed = false;
    const closed = closing.finally(() => (isClosed = true)).catch(() => undefined);
    while (!isClosed) if (!(await this.look())) await Promise.race([closed, sleep(LAST_LOOK_MS)]);
    while (await this.look());
    await this.#target.close();
    const records = this.#sumLost() - before;
    if (records > 0)
      this.#log.warn({ records }, 'records of flows were lost while the gateway stopped');
  }

  #sumLost(): number {
    return Object.values(this.counts.lost).reduce((sum, count) => sum + count, 0);
  }

  /** Since this gateway began. */
  get counts(): FlowLogCounts {
    const { full, share } = this.#source.lost;
    const { unsent } = this.#target;
    return { records: this.#records, lost: { ring_full: full, device_share: share, unsent } };
  }
}

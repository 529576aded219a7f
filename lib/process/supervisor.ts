// What the one who started the process is told, where it listens: systemd, for a unit of
// Type=notify. That Postern serves, that it stops, and, as often as was asked, that its data plane
// lives. A data plane that stays down is silence, and systemd starts Postern again.

import type { Supervisor } from '../../config/index.ts';
import { type Log, messageOf } from './log.ts';

/** Tells a socket; notify of the data plane's door. */
export type Notify = (socket: string, lines: readonly string[]) => void;

/** Speaks to the supervisor, or to nobody. It never throws. */
export class Reports {
  readonly #supervisor: Supervisor;
  readonly #notify: Notify;
  readonly #log: Log;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(supervisor: Supervisor, notify: Notify, log: Log) {
    this.#supervisor = supervisor;
    this.#notify = notify;
    this.#log = log;
  }

  /** Whether somebody listens. */
  get isSupervised(): boolean {
    return this.#supervisor.socket !== null;
  }

  /** Postern serves; from here on the watchdog hears of the data plane while `isAlive`. */
  ready(status: string, isAlive: () => boolean): void {
    this.#tell(['READY=1', `STATUS=${status}`]);
    const { watchdogMs } = this.#supervisor;
    if (watchdogMs === null) return;
    const report = (): void => {
      if (isAlive()) this.#tell(['WATCHDOG=1']);
    };
    report();
    // Twice as often as it must be, as sd_watchdog_enabled(3) advises.
    this.#watchdog = setInterval(report, watchdogMs / 2).unref();
  }

  /** Something is read again, well or not. */
  reloading(read: () => void): void {
    this.#tell(['RELOADING=1']);
    read();
    this.#tell(['READY=1']);
  }

  /** The stop has begun. */
  stopping(): void {
    clearInterval(this.#watchdog);
    this.#tell(['STOPPING=1', 'STATUS=Postern stops']);
  }

  #tell(lines: readonly string[]): void {
    const { socket } = this.#supervisor;
    if (socket === null) return;
    try {
      this.#notify(socket, lines);
    } catch (error) {
      this.#log.warn({ fault: messageOf(error) }, 'the supervisor could not be told');
    }
  }
}

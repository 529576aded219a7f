// Reports to the supervisor that started the process: systemd, for a unit of Type=notify. They say
// that Postern serves, that it stops, and, as often as systemd asks, that its data plane runs. If
// the data plane stays down, the reports stop, and systemd starts Postern again.

import type { Supervisor } from '../../../config/index.ts';
import type { Log } from './log.ts';
import { messageOf } from './message.ts';

/** Writes lines to a socket: `notify` of the data plane. */
export type Notify = (socket: string, lines: readonly string[]) => void;

/** Sends reports to the supervisor, if there is one. It never throws. */
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

  /** Whether there is a supervisor. */
  get isSupervised(): boolean {
    return this.#supervisor.socket !== null;
  }

  /** Reports that Postern serves. From now on the watchdog gets reports while `isAlive` is true. */
  ready(status: string, isAlive: () => boolean): void {
    this.#report(['READY=1', `STATUS=${status}`]);
    const { watchdogMs } = this.#supervisor;
    if (watchdogMs === null) return;
    const report = (): void => {
      if (isAlive()) this.#report(['WATCHDOG=1']);
    };
    report();
    // Twice as often as it must be, as sd_watchdog_enabled(3) advises.
    this.#watchdog = setInterval(report, watchdogMs / 2).unref();
  }

  /** Reports that settings are read again, before and after it. */
  reloading(read: () => void): void {
    this.#report(['RELOADING=1']);
    read();
    this.#report(['READY=1']);
  }

  /** Reports that the stop has begun. */
  stopping(): void {
    clearInterval(this.#watchdog);
    this.#report(['STOPPING=1', 'STATUS=Postern stops']);
  }

  #report(lines: readonly string[]): void {
    const { socket } = this.#supervisor;
    if (socket === null) return;
    try {
      this.#notify(socket, lines);
    } catch (error) {
      this.#log.warn({ fault: messageOf(error) }, 'the supervisor got no report');
    }
  }
}

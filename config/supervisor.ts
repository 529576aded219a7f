// What a supervisor such as systemd gives the process that it starts: where to report
// (sd_notify(3))
// and how often (sd_watchdog_enabled(3)). They are no settings of Postern: nobody writes them.

/** The supervisor of this process. */
export interface Supervisor {
  /** Path of its socket, or @ and an abstract name; null when nobody expects reports. */
  readonly socket: string | null;
  /** It ends a process that has not reported for so long; null when it does not watch. */
  readonly watchdogMs: number | null;
}

/** Reads what was given; what is not meant for this process, or no number, is as if absent. */
export function parseSupervisor(
  environment: Record<string, string | undefined>,
  pid: number,
): Supervisor {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC, WATCHDOG_PID } = environment;
  if (!/^[/@]./.test(socket)) return { socket: null, watchdogMs: null };
  const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(pid);
  const watchdogMs = isOurs ? Number(WATCHDOG_USEC) / 1_000 : Number.NaN;
  return { socket, watchdogMs: watchdogMs > 0 ? watchdogMs : null };
}

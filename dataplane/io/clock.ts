// The clocks. The packet path never reads one: it is told `now` and `wallMs`.

/** Two clocks: one that only goes forward, and Unix time. Both in milliseconds. */
export interface Clock {
  now(): number;
  wall(): number;
}

/** Clocks of this machine; `bootTime` (CLOCK_BOOTTIME) where the addon is there to read it. */
export function systemClock(bootTime: (() => number) | null): Clock {
  return { now: bootTime ?? (() => performance.now()), wall: () => Date.now() };
}

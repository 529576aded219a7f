// What a test is told when a packet came to nothing: who refused it and why, as the gateway counts
// its refusals. Nothing on a network in memory takes time, so this is known at once.

/** Refusals by reason. */
export type Refusals = Readonly<Record<string, number>>;

/** What became of a packet that was not answered. */
export interface Fate {
  /** What the gateway refused meanwhile, by the names of dataplane/reasons.ts. */
  readonly refusals: Refusals;
  /** What the asker's own WireGuard refused, a response under another preshared key say. */
  readonly ownRefusals: Refusals;
  /** Whether something left the gateway for an address at which there is no host. */
  readonly isUnclaimed: boolean;
}

/** A ping, a datagram or a segment was not answered. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError';
  readonly code = 'NO_ANSWER';
  /** What the gateway refused, by reason; empty where it let everything pass. */
  readonly refusals: Refusals;

  constructor(what: string, to: string, fate: Fate) {
    super(`${what} was not answered: ${whyOf(to, fate)}`);
    this.refusals = fate.refusals;
  }
}

function whyOf(to: string, { refusals, ownRefusals, isUnclaimed }: Fate): string {
  const refused = [
    ['the gateway refused it', refusals],
    ['the device refused what came', ownRefusals],
  ] as const;
  const told = refused
    .filter(([, counts]) => Object.keys(counts).length > 0)
    .map(([who, counts]) => `${who} (${listed(counts)})`);
  if (told.length > 0) return told.join('; ');
  if (isUnclaimed)
    return `the gateway let it pass, and nobody is at ${to}; put somebody there with gateway.host('${to}')`;
  return `the gateway refused nothing, and nobody answered; is ${to} online?`;
}

function listed(refusals: Refusals): string {
  return Object.entries(refusals)
    .map(([reason, count]) => `${reason}: ${count}`)
    .join(', ');
}

/** What grew between two readings of counters. */
export function growth(before: Refusals, after: Refusals): Refusals {
  return Object.fromEntries(
    Object.entries(after)
      .map(([reason, count]) => [reason, count - (before[reason] ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );
}

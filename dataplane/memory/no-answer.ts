// The error for a test whose packet was not answered: who refused it and why, as the gateway counts
// refusals. Nothing on a network in memory takes time, so this is known at once.

/** Refusals by reason. */
export type Refusals = Readonly<Record<string, number>>;

/** What happened to a packet that was not answered. */
export interface Fate {
  /** What the gateway refused meanwhile, by name of the reason (dataplane/reasons.ts). */
  readonly refusals: Refusals;
  /**
   * What the WireGuard of the sender refused, for example a response under another preshared key.
   */
  readonly ownRefusals: Refusals;
  /** Whether a packet left the gateway to an address without a host. */
  readonly isUnclaimed: boolean;
}

/** A ping, a datagram or a segment was not answered. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError';
  readonly code = 'NO_ANSWER';
  /** What the gateway refused, by reason; empty where it refused nothing. */
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
  const found = refused
    .filter(([, counts]) => Object.keys(counts).length > 0)
    .map(([who, counts]) => `${who} (${listed(counts)})`);
  if (found.length > 0) return found.join('; ');
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

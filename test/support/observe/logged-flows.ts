// What becomes of flows, made up for tests.

import type { LoggedFlow } from '../../../dataplane/index.ts';

/** A flow that a device opened to a host. */
export function loggedFlow(fields: Partial<LoggedFlow> = {}): LoggedFlow {
  return {
    event: 'ended',
    version: 4,
    protocol: 6,
    source: Uint8Array.of(100, 64, 0, 2),
    destination: Uint8Array.of(10, 0, 0, 5),
    sourcePort: 50_000,
    destinationPort: 443,
    opener: 'a key',
    target: null,
    isAnswered: true,
    by: 'rule',
    rule: 'a rule',
    because: 'finished',
    reason: null,
    openedMs: Date.UTC(2026, 10, 25, 12, 0, 0, 250),
    latestMs: Date.UTC(2026, 10, 25, 12, 1),
    atMs: Date.UTC(2026, 10, 25, 12, 1, 10),
    sentPackets: 12,
    sentBytes: 1_800,
    replyPackets: 20,
    replyBytes: 24_000,
    ...fields,
  };
}

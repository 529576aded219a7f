// How packets of devices leave the gateways of a run of tests: by a TUN, or, as EGRESS says, by
// sockets of the gateway (no right, no device) or without root (pasta).

import process from 'node:process';

const WAYS = ['tun', 'sockets', 'rootless'] as const;

/** One of them. */
export type Way = (typeof WAYS)[number];

/** That of this run. */
export const way = wayOf(process.env['EGRESS'] ?? 'tun');

function wayOf(text: string): Way {
  const found = WAYS.find((one) => one === text);
  if (found === undefined) throw new Error(`EGRESS is one of ${WAYS.join(', ')}, not ${text}`);
  return found;
}

// The interface of a link-local endpoint. It is not saved, because its number changes. The address
// of the gateway to which the peer sends shows it: it is link-local too, and one interface has it.

import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Heard, PeerConfig } from '../contract.ts';
import { parseAddress } from '../wire/address.ts';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Two interfaces have the address. */
const AMBIGUOUS = 0;

/** The peers; link-local endpoints at which they are resumed have their interface. */
export function withInterfaces<P extends PeerConfig>(
  peers: readonly P[],
  read: () => Interfaces = networkInterfaces,
): readonly P[] {
  if (!peers.some(({ resume }) => lacksInterface(resume))) return peers;
  const numbers = numbersOf(read);
  return peers.map((peer) => {
    const { resume } = peer;
    if (!lacksInterface(resume)) return peer;
    const number = numbers.get(keyOf(resume.local ?? '')) ?? AMBIGUOUS;
    if (number === AMBIGUOUS) return peer;
    const { address, port } = resume.endpoint;
    return {
      ...peer,
      resume: { ...resume, endpoint: { address: `${address}%${number}`, port } },
    };
  });
}

function lacksInterface(resume: Heard | null): resume is Heard {
  return resume !== null && isLinkLocal(resume.endpoint.address);
}

/** Whether a text is a link-local address without its interface. */
function isLinkLocal(text: string): boolean {
  return /^fe[89ab]/i.test(text) && parseAddress(text) !== null;
}

/** By link-local address: the number of the interface that has it, or AMBIGUOUS. */
function numbersOf(read: () => Interfaces): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const infos of Object.values(readOrNothing(read)))
    for (const info of infos ?? []) {
      if (info.family !== 'IPv6' || !isLinkLocal(info.address)) continue;
      const key = keyOf(info.address);
      numbers.set(key, numbers.has(key) ? AMBIGUOUS : info.scopeid);
    }
  return numbers;
}

function readOrNothing(read: () => Interfaces): Interfaces {
  try {
    return read();
  } catch {
    // EMFILE: the peers wait for their own next handshakes.
    return {};
  }
}

/** The bytes of an address as text, because one address has several texts. */
function keyOf(text: string): string {
  return String(parseAddress(text));
}

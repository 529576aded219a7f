// Where a request comes from: the other end of its connection, or what trusted proxies say of it.
// Only a proxy of TRUSTED_PROXIES is believed, and only as far as a chain of such proxies reaches,
// so nobody chooses an address for themselves.

import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import type { Plugin } from '@hapi/hapi';
import ipaddr from 'ipaddr.js';
import type { NetworkRange } from '../../../dataplane/index.ts';
import { isInside } from '../validation/networks.ts';
import { cameByDoor, type Peer } from './door.ts';
import type { UnnamedProxies } from './unnamed-proxies.ts';

/** Proxies that one request may have come through. */
const HOPS_MAX = 10;

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Where the request came from, as far as that is known. */
    address?: string;
  }
}

/** Proxies that are believed; in trusted-proxies.ts. */
interface BelievedProxies {
  /** Whether an address is one of theirs, as far as those are known. */
  trusts(address: string): boolean;
  /** Whether the other end of a connection is. */
  trustsPeer(peer: Peer): boolean;
  /** Looks for the addresses of names where `peer` is none of those; null where it need not. */
  heed(peer: string): Promise<unknown> | null;
}

/** Finds the address of a request by the other end of its connection and by its headers. */
export type FindAddress = (request: IncomingMessage) => string | Promise<string>;

/** Finds addresses for one server: the gate asks first, then the server, of the same requests. */
export function addressFinder(proxies: BelievedProxies): FindAddress {
  const found = new WeakMap<IncomingMessage, string>();
  return (request) => {
    const before = found.get(request);
    if (before !== undefined) return before;
    const { headers } = request;
    const remote = remoteOf(request);
    const forwarded = headers['x-forwarded-for'];
    const decide = (): string => {
      const said = typeof forwarded === 'string' ? forwarded : '';
      const trusts = (one: string): boolean => proxies.trusts(one);
      const isBelieved = proxies.trustsPeer(request.socket);
      const address = addressOf(remote, isBelieved ? said : '', trusts);
      found.set(request, address);
      return address;
    };
    const peer = isForwarded(headers) ? canonical(remote) : null;
    const looking = peer === null ? null : proxies.heed(peer);
    return looking === null ? decide() : looking.then(decide);
  };
}

/** The address of the other end; empty if the connection is gone already. */
function remoteOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

/** How addresses are found, who is believed, and who was seen that is not. */
interface Peers {
  readonly find: FindAddress;
  readonly proxies: BelievedProxies;
  readonly unnamed: UnnamedProxies;
}

/** Finds the address of each request before anything else of the server asks for it. */
export const clientAddress: Plugin<Peers> = {
  name: 'client-address',
  register(server, { find, proxies, unnamed }) {
    server.ext('onRequest', ({ app, headers, raw: { req } }, h) => {
      const peer = isForwarded(headers) ? canonical(remoteOf(req)) : null;
      const note = (address: string): symbol => {
        app.address = address;
        if (peer !== null && !proxies.trusts(peer) && !cameByDoor(req.socket)) unnamed.note(peer);
        return h.continue;
      };
      const address = find(req);
      return typeof address === 'string' ? note(address) : address.then(note);
    });
  },
};

/** Whether a proxy names its client, in any of the usual headers. */
export function isForwarded(headers: Readonly<Record<string, unknown>>): boolean {
  return ['x-forwarded-for', 'forwarded', 'x-real-ip'].some((name) => headers[name] !== undefined);
}

/** Whether a member of such a setting is an address or a network; else it is a name. */
export function isAddress(text: string): boolean {
  return (
    ipaddr.isValidCIDR(text) ||
    ipaddr.IPv4.isValidFourPartDecimal(text) ||
    ipaddr.IPv6.isValid(text)
  );
}

/** Reads networks as the setting lists them, with commas between; they were checked before. */
export function parseRanges(text: string | null): readonly NetworkRange[] {
  if (text === null || text === '') return [];
  return text
    .split(',')
    .map((one) => one.trim())
    .map((one) => {
      const [address, prefix] = one.split('/');
      const network = Uint8Array.from(ipaddr.parse(address ?? '').toByteArray());
      return { network, prefixBits: prefix === undefined ? 8 * network.length : Number(prefix) };
    });
}

/** The address that the last trusted proxy saw; `remote` where there is none. */
export function addressOf(
  remote: string,
  forwarded: string,
  trusts: (address: string) => boolean,
): string {
  const hops = forwarded.split(',').slice(-HOPS_MAX);
  let address = canonical(remote) ?? remote;
  while (trusts(address)) {
    const said = canonical(hops.pop()?.trim() ?? '');
    if (said === null) break;
    address = said;
  }
  return address;
}

/** True for an address, in any spelling, of these networks. */
export function isInAny(remote: string, networks: readonly NetworkRange[]): boolean {
  // Most gateways have no proxy, and each request asks.
  if (networks.length === 0) return false;
  const address = canonical(remote);
  if (address === null) return false;
  const bytes = Uint8Array.from(ipaddr.parse(address).toByteArray());
  return networks.some((range) => isInside(bytes, range));
}

/** One text for one address; an IPv4 address inside IPv6 is that IPv4 address. Null: none. */
export function canonical(text: string): string | null {
  // Nearly every request comes from such an address, which a socket for both families writes so.
  const plain = text.startsWith('::ffff:') ? text.slice('::ffff:'.length) : text;
  if (isIPv4(plain)) return plain;
  // Some proxies write a port behind it.
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, '$1');
  const address = bare.split('%')[0] ?? '';
  if (!isIPv4(address) && !ipaddr.IPv6.isValid(address)) return null;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.toRFC5952String() : parsed.toString();
}

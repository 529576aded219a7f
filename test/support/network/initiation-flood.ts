// Floods a gateway with forged handshake initiations: the type, the size and mac1 are right, as
// anyone who knows its public key can make them, and nothing else is. Run on a host of its own as
//
//   initiation-flood.ts ADDRESS PORT PUBLIC_KEY PER_SECOND SECONDS SOURCES [TYPE]
//
// It writes whole IP packets into a TUN of its own, which the host forwards, so that the sources
// may be any of 10.66.0.0/16 (SOURCES of them, each datagram from another port); answers to them are
// routed back into the TUN and come to nothing. A TYPE other than 1 makes datagrams of that size
// that are no messages at all. Prints {"sent"}.

import { execFileSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { writeSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadAddon } from '../../../dataplane/native/index.ts';
import { CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { initiation } from '../../../dataplane/wire/messages.ts';
import { address, ip, viewOf } from '../dataplane/packets.ts';

const TUN = 'flood0';
const NETWORK = '10.66.0.0/16';
/** Messages that are made; they are sent again from other sources. */
const MESSAGES = 4_096;
const UDP_HEADER = 8;
const IP_HEADER = 20;

const [
  host = '',
  port = '',
  publicKey = '',
  perSecond = '',
  seconds = '',
  sources = '',
  type = '1',
] = process.argv.slice(2);
const { addon } = loadAddon();
if (addon === null) throw new Error('the addon is not built: npm run build:native');

const { fd } = addon.openTun(TUN, false);
addon.setLink(TUN, 1_500);
for (const args of [
  ['ip', 'route', 'add', NETWORK, 'dev', TUN],
  ['sysctl', '-qw', 'net.ipv4.ip_forward=1', `net.ipv4.conf.${TUN}.rp_filter=0`],
])
  execFileSync(args[0]!, args.slice(1));

/** Packets with forged messages, of which only the source has to be set. */
const packets = Array.from({ length: MESSAGES }, () => {
  const message = new Uint8Array(initiation.bytes);
  randomFillSync(message);
  message.set([Number(type), 0, 0, 0]);
  new CookieMaker(addon, Buffer.from(publicKey, 'base64')).addMacs(message, initiation.mac1, 0);
  const payload = new Uint8Array(UDP_HEADER + message.length);
  const view = viewOf(payload);
  view.setUint16(2, Number(port));
  // A checksum of 0 is none.
  view.setUint16(4, payload.length);
  payload.set(message, UDP_HEADER);
  return ip({ source: '10.66.0.0', destination: host, protocol: 17, payload });
});

/** The header's checksum grows by what the last word of the source grows by (RFC 1624). */
function setSource(packet: Uint8Array, low: number, sourcePort: number): void {
  const view = viewOf(packet);
  const before = view.getUint16(14);
  let sum = (~view.getUint16(10) & 0xffff) + (~before & 0xffff) + low;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  view.setUint16(10, ~sum & 0xffff);
  view.setUint16(14, low);
  view.setUint16(IP_HEADER, sourcePort);
}

if (address(host).length !== 4) throw new Error('only IPv4 can be flooded');
const total = Number(perSecond) * Number(seconds);
const began = performance.now();
let sent = 0;
let refused = 0;
while (sent < total) {
  const due = Math.min(total, ((performance.now() - began) * Number(perSecond)) / 1_000);
  for (; sent < due; sent++) {
    const packet = packets[sent % MESSAGES]!;
    setSource(packet, 2 + ((sent * 40_503) % Number(sources)), 1_024 + ((sent * 257) % 60_000));
    try {
      writeSync(fd, packet);
    } catch {
      refused++;
    }
  }
  await sleep(1);
}
const took = (performance.now() - began) / 1_000;
process.stdout.write(`${JSON.stringify({ sent, refused, perSecond: sent / took })}\n`);

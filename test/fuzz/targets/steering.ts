// The kernel's choice among the sockets of the workers: whatever a datagram holds, it comes at one
// socket, and a WireGuard message at that of its worker.

import { strict as assert } from 'node:assert';
import { type Addon, EVENT_UDP, type NativeEngine } from '../../../dataplane/native/index.ts';
import { writeEndpoint } from '../../../dataplane/wire/address.ts';
import { messageType } from '../../../dataplane/wire/messages.ts';
import { workerOfMessage } from '../../../dataplane/wireguard/steering.ts';
import { addon, contentOf, openNative, TARGET } from '../../support/dataplane/native.ts';
import { address, viewOf } from '../../support/dataplane/packets.ts';
import { ChoiceReader } from '../reader.ts';

const WORKERS = 5;
const LENGTHS = [148, 92, 64, 32] as const;

interface Group {
  readonly sender: NativeEngine;
  readonly engines: readonly NativeEngine[];
}

let group: Group | null = null;

function openGroup(native: Addon): Group {
  const common = { udp6: -1, tun: -1, wake: -1, tunTakesUdp: false, mtu: 1_420 };
  const first = native.openUdp(false, 0, true);
  const port = native.boundPort(first);
  const fds = [first];
  while (fds.length < WORKERS) fds.push(native.openUdp(false, port, true));
  native.steerUdp(first, WORKERS);
  const sender = openNative(native, { ...common, udp4: native.openUdp(false, 0, false) });
  writeEndpoint(sender.endpoints, TARGET, address('127.0.0.1'), port);
  return { sender, engines: fds.map((udp4) => openNative(native, { ...common, udp4 })) };
}

/** Sends a datagram, and returns the worker at which it came. */
function send({ sender, engines }: Group, message: Uint8Array): number {
  sender.send(message, TARGET);
  sender.flush();
  // Loopback delivers at once, except on a busy machine.
  for (let tries = 0; tries < 1_000; tries++)
    for (const [worker, engine] of engines.entries()) {
      if ((engine.poll(0) & EVENT_UDP) === 0) continue;
      engine.receive();
      assert.equal(engine.datagrams.count, 1);
      assert.deepEqual(contentOf(engine.datagrams, 0), message);
      return worker;
    }
  return -1;
}

/** Sends what the input says as it is, or with a proper length and type before it. */
export function steering(input: Uint8Array): string {
  if (addon === null) return '';
  group ??= openGroup(addon);
  const reader = new ChoiceReader(input);
  const kind = reader.byte();
  const message = kind < 128 ? reader.slice(400) : new Uint8Array(LENGTHS[kind & 3]! + (kind & 16));
  if (kind >= 128) {
    message.set(reader.slice(message.length));
    message.set([1 + (kind & 3), 0, 0, 0]);
  }
  // An engine sends nothing empty.
  if (message.length === 0) return 'empty';
  const worker = send(group, message);
  assert(worker >= 0, 'it was lost');
  const view = viewOf(message);
  const type = messageType(view, 0, message.length);
  if (type !== 0) assert.equal(worker, workerOfMessage(view, 0, type, WORKERS));
  return `${type} ${worker}`;
}

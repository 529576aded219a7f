// Sockets that share a port: the kernel leads each datagram to the socket of its worker, also when it
// is joined with others, and what belongs to nobody to the first one.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { MARK_SEAL } from '../../../dataplane/contract.ts';
import { type Addon, EVENT_UDP, type NativeEngine } from '../../../dataplane/native/index.ts';
import { messageType } from '../../../dataplane/wire/messages.ts';
import { writeEndpoint } from '../../../dataplane/wire/address.ts';
import { workerOfMessage } from '../../../dataplane/wireguard/steering.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { contentOf, openNative, place, TARGET } from '../../support/dataplane/native.ts';
import { address, counting, viewOf } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import fc from 'fast-check';

/** Engines whose sockets share one port, and a socket that sends to it. */
class Group {
  readonly port: number;
  readonly engines: readonly NativeEngine[];
  readonly sender: Socket;
  readonly #isIpv6: boolean;

  private constructor(native: Addon, isIpv6: boolean, workers: number, sender: Socket) {
    const first = native.openUdp(isIpv6, 0, true);
    this.port = native.boundPort(first);
    const others = Array.from({ length: workers - 1 }, () =>
      native.openUdp(isIpv6, this.port, true),
    );
    this.fds = [first, ...others];
    native.steerUdp(first, workers);
    this.engines = this.fds.map((fd) => {
      const sockets = isIpv6 ? { udp4: -1, udp6: fd } : { udp4: fd, udp6: -1 };
      return openNative(native, { ...sockets, tun: -1, wake: -1, tunTakesUdp: false, mtu: 1_420 });
    });
    this.sender = sender;
    this.#isIpv6 = isIpv6;
  }

  readonly fds: readonly number[];

  static async open(
    t: ExecutionContext,
    native: Addon,
    workers: number,
    isIpv6 = false,
  ): Promise<Group> {
    const sender = createSocket(isIpv6 ? 'udp6' : 'udp4').bind(0);
    await once(sender, 'listening');
    const group = new Group(native, isIpv6, workers, sender);
    t.teardown(() => {
      sender.close();
      for (const engine of group.engines) engine.close();
      for (const fd of group.fds) native.closeFd(fd);
    });
    return group;
  }

  async send(bytes: Uint8Array): Promise<void> {
    await new Promise((resolve) => {
      this.sender.send(bytes, this.port, this.#isIpv6 ? '::1' : '127.0.0.1', resolve);
    });
  }

  /** Takes what has arrived, by worker. */
  take(): Uint8Array[][] {
    return this.engines.map((engine) => {
      const taken: Uint8Array[] = [];
      while ((engine.poll(5) & EVENT_UDP) !== 0) {
        engine.receive();
        for (let i = 0; i < engine.datagrams.count; i++) taken.push(contentOf(engine.datagrams, i));
      }
      return taken;
    });
  }
}

/** A message of a type with a receiver index at its place; the rest counts up. */
function message(type: number, index: number): Uint8Array {
  const length = { 1: 148, 2: 92, 3: 64, 4: 112 }[type] ?? 50;
  const bytes = counting(length);
  bytes.set([type, 0, 0, 0]);
  if (type !== 1) viewOf(bytes).setUint32(type === 2 ? 8 : 4, index, true);
  return bytes;
}

for (const isIpv6 of [false, true])
  nativeTest(
    `${isIpv6 ? 'IPv6' : 'IPv4'}: each message comes at the worker that its receiver index names`,
    async (t, native) => {
      const group = await Group.open(t, native, 5, isIpv6);
      for (let worker = 0; worker < 5; worker++)
        for (const type of [2, 3, 4]) {
          const sent = message(type, 0xabcdef00 + worker);
          await group.send(sent);
          const wanted = group.engines.map((_, i) => (i === worker ? [sent] : []));
          t.deepEqual(group.take(), wanted, `type ${type}, worker ${worker}`);
        }
    },
  );

nativeTest(
  'initiations, and what belongs to nobody, come at the first worker',
  async (t, native) => {
    const group = await Group.open(t, native, 3);
    const strange = [
      message(1, 0),
      message(4, 3),
      message(4, 7),
      message(9, 1),
      new Uint8Array([4]),
      new Uint8Array([4, 0, 0, 0]),
      new Uint8Array([2, 0, 0, 0, 1, 1, 1]),
      new Uint8Array(0),
    ];
    for (const bytes of strange) await group.send(bytes);
    const [first, ...others] = group.take();
    t.deepEqual(first, strange);
    t.deepEqual(others, [[], []]);
  },
);

nativeTest('the kernel and the workers agree about every datagram', async (t, native) => {
  const group = await Group.open(t, native, 3);
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(fc.integer({ min: 0, max: 5 }), fc.integer())
      .map(([type, index]) => message(type, index >>> 0)),
  );
  for (const datagram of fc.sample(bytes, { ...SEEDED, numRuns: 150 })) {
    const type = messageType(viewOf(datagram), 0, datagram.length);
    const worker = workerOfMessage(viewOf(datagram), 0, type, 3);
    await group.send(datagram);
    const taken = group.take();
    // What is no message may come anywhere: the kernel does not look at sizes.
    if (type !== 0)
      t.is(
        taken.findIndex((all) => all.length > 0),
        worker,
      );
    t.is(taken.flat().length, 1);
  }
});

nativeTest('a train comes whole where its first datagram belongs', async (t, native) => {
  const group = await Group.open(t, native, 2);
  const socket = native.openUdp(false, 0);
  const options = { udp4: socket, udp6: -1, tun: -1, wake: -1, tunTakesUdp: false, mtu: 1_420 };
  const sender = openNative(native, options);
  t.teardown(() => {
    sender.close();
    native.closeFd(socket);
  });
  writeEndpoint(sender.endpoints, TARGET, address('127.0.0.1'), group.port);
  const key = sender.installKey(counting(32), counting(32), 1)!;
  for (let i = 0; i < 40; i++)
    place(sender.packets, i, counting(1_000, i), { mark: MARK_SEAL, key, address: TARGET });
  sender.seal(sender.packets);
  sender.flush();
  const [first, second] = group.take();
  t.deepEqual(first, []);
  t.is(second!.length, 40);
  t.true(second!.every((datagram) => datagram.length === second![0]!.length));
});

nativeTest('a port that is shared has one owner', (t, native) => {
  const fd = native.openUdp(false, 0, true);
  const port = native.boundPort(fd);
  const lock = native.lockPort(port);
  t.throws(() => native.lockPort(port), { code: 'EADDRINUSE' });
  t.throws(() => native.openUdp(false, port), { code: 'EADDRINUSE' });
  native.closeFd(lock);
  native.closeFd(native.lockPort(port));
  native.closeFd(fd);
});

nativeTest('datagrams of a socket that shares no port cannot be led', (t, native) => {
  t.throws(() => native.steerUdp(-1, 2), { message: /workers/ });
  t.throws(() => native.steerUdp(0, 9), { instanceOf: TypeError });
});

// What leaves by one call to a host (native/socket_datagrams.cc): datagrams of one size that follow
// each other are one run, and where the path takes no run each still leaves.

import { constants } from 'node:os';
import { NativeHostSockets } from '../../../dataplane/io/host-sockets.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { PIECE_ERROR } from '../../../dataplane/socket-contract.ts';
import { failingKernelTest } from '../../support/dataplane/failing-kernel.ts';
import { NativeBench } from '../../support/dataplane/native.ts';
import { address, counting } from '../../support/dataplane/packets.ts';
import { SocketBench } from '../../support/network/host-sockets.ts';

const { EAGAIN, EPERM } = constants.errno;
const LENGTHS = [300, 300, 300, 200, 300, 300, 400, 0, 0, 400];
/** Three of 300 and one of 200; two of 300; the others leave alone. */
const RUNS = 2;

/** A flow to a host that can be waited for. */
class Flow {
  readonly #bench: SocketBench;
  readonly #host: NativeBench;
  readonly #handle: number;

  constructor(native: Addon) {
    this.#bench = new SocketBench((all) => new NativeHostSockets(native, all));
    this.#host = new NativeBench(native);
    const port = native.boundPort(this.#host.listeningSocket);
    this.#handle = this.#bench.sockets.connectUdp(address('127.0.0.1'), port);
  }

  /** Sends datagrams of such lengths by one call; how many were sent, and what became of each. */
  send(lengths: readonly number[]): { sent: number; errors: number[] } {
    for (const [i, length] of lengths.entries()) this.#bench.put(i, counting(length, i));
    const sent = this.#bench.sockets.send(this.#handle, lengths.length);
    return { sent, errors: lengths.map((_, i) => this.#bench.word(i, PIECE_ERROR)) };
  }

  /** What the host has got since. */
  get got(): Uint8Array[] {
    return this.#host.datagrams();
  }

  close(): void {
    this.#bench.sockets.close();
    this.#host.close();
  }
}

function withFlow(native: Addon, body: (flow: Flow) => void): void {
  const flow = new Flow(native);
  try {
    body(flow);
  } finally {
    flow.close();
  }
}

const datagrams = LENGTHS.map((length, i) => counting(length, i));
const allSent = { sent: LENGTHS.length, errors: LENGTHS.map(() => 0) };

failingKernelTest('datagrams of one size leave as a run', (t, native, kernel) => {
  withFlow(native, (flow) => {
    kernel.set('send', {});
    t.deepEqual(flow.send(LENGTHS), allSent);
    t.deepEqual(flow.got, datagrams);
    t.is(kernel.trains, RUNS);
    t.is(kernel.calls('send'), 1);
  });
});

failingKernelTest('a run is not larger than a datagram may be', (t, native, kernel) => {
  withFlow(native, (flow) => {
    kernel.set('send', {});
    t.is(flow.send(Array.from({ length: 10 }, () => 10_000)).sent, 10);
    t.is(kernel.trains, 2, 'six of them, and four');
  });
});

failingKernelTest('where a run is refused, each datagram leaves alone', (t, native, kernel) => {
  for (const error of ['EINVAL', 'EMSGSIZE', 'EIO'] as const) {
    withFlow(native, (flow) => {
      kernel.set('send', { error, trainsOnly: true });
      t.deepEqual(flow.send(LENGTHS), allSent, error);
      t.deepEqual(flow.got, datagrams);
      kernel.set('send', {});
      t.deepEqual(flow.send(LENGTHS), allSent, error);
      t.deepEqual(flow.got, datagrams);
      // EIO: the network card takes none at all.
      t.is(kernel.trains, error === 'EIO' ? 0 : RUNS, error);
    });
  }
});

failingKernelTest('a kernel that takes few messages is given the rest', (t, native, kernel) => {
  withFlow(native, (flow) => {
    kernel.set('send', { most: 2 });
    t.deepEqual(flow.send(LENGTHS), allSent);
    t.deepEqual(flow.got, datagrams);
  });
});

failingKernelTest('without room each datagram of a run is lost', (t, native, kernel) => {
  withFlow(native, (flow) => {
    kernel.set('send', { error: 'EAGAIN', times: 1 });
    t.deepEqual(flow.send([300, 300, 300, 400]), { sent: 1, errors: [EAGAIN, EAGAIN, EAGAIN, 0] });
    t.deepEqual(flow.got, [counting(400, 3)]);
  });
});

failingKernelTest('an error of an earlier datagram costs no run', (t, native, kernel) => {
  for (const error of ['ECONNREFUSED', 'EPERM', 'ENOBUFS'] as const) {
    withFlow(native, (flow) => {
      kernel.set('send', { error, times: 1 });
      t.deepEqual(flow.send(LENGTHS), allSent, error);
      t.deepEqual(flow.got, datagrams);
    });
  }
});

failingKernelTest('a datagram that is refused is lost alone', (t, native, kernel) => {
  withFlow(native, (flow) => {
    kernel.set('send', { error: 'EPERM', largerThan: 350 });
    t.deepEqual(flow.send([300, 300, 300, 400]), { sent: 3, errors: [0, 0, 0, EPERM] });
  });
});

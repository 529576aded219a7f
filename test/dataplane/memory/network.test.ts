// The network in memory: what is begun on it has happened when `run` returns, timers fire by
// themselves, and what never ends is ended.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { MemoryNetwork, type Participant } from '../../../dataplane/memory/network.ts';

const HERE = { address: '198.51.100.1', port: 1 };
const THERE = { address: '198.51.100.2', port: 2 };

function participant(changes: Partial<Participant> = {}): Participant {
  return {
    endpoint: THERE,
    receive: () => undefined,
    nextTimeout: () => Number.POSITIVE_INFINITY,
    expire: () => undefined,
    ...changes,
  };
}

test('what a datagram causes has happened when the run returns', (t) => {
  const network = new MemoryNetwork();
  t.teardown(() => network.close());
  const heard: string[] = [];
  const receive = (bytes: Uint8Array, from: object): void => {
    t.deepEqual(from, HERE);
    heard.push(String(bytes));
    if (bytes[0]! < 3)
      network.transmit(
        bytes.map((byte) => byte + 1),
        HERE,
        THERE,
      );
  };
  const one = participant({ receive });
  network.join(one);
  network.run(() => network.transmit(new Uint8Array([1]), HERE, THERE));
  t.deepEqual(heard, ['1', '2', '3']);
  network.leave(one);
  network.run(() => network.transmit(new Uint8Array([1]), HERE, THERE));
  t.is(heard.length, 3);
});

test('timers that are due fire in a run, later ones by themselves', async (t) => {
  const network = new MemoryNetwork();
  t.teardown(() => network.close());
  const deadlines = [network.now, network.now + 300, Number.POSITIVE_INFINITY];
  network.join(
    participant({ nextTimeout: () => deadlines[0]!, expire: () => void deadlines.shift() }),
  );
  network.run(() => undefined);
  t.is(deadlines.length, 2);
  for (let waited = 0; deadlines.length > 1 && waited < 5_000; waited += 5) await sleep(5);
  t.deepEqual(deadlines, [Number.POSITIVE_INFINITY]);
});

test('what goes around in circles is ended, and the network serves on', (t) => {
  const network = new MemoryNetwork();
  t.teardown(() => network.close());
  const again = (): void => network.run(again);
  t.throws(() => network.run(again), { message: /circles/ });
  let done = false;
  network.run(() => (done = true));
  t.true(done);
});

test('an error in a handler reaches whoever asked', (t) => {
  const network = new MemoryNetwork();
  t.teardown(() => network.close());
  const error = (): void => {
    throw new Error('of the test');
  };
  t.throws(() => network.run(error), { message: 'of the test' });
  t.notThrows(() => network.run(() => undefined));
});

test('nothing is done on a network that is closed', (t) => {
  const network = new MemoryNetwork();
  network.close();
  t.throws(() => network.run(() => undefined), { message: 'the gateway is closed' });
});

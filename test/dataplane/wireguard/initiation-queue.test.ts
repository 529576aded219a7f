// The queue of initiations: first in, first out, with the endpoint and the peer of each.

import test from 'ava';
import { MAX_QUEUED_INITIATIONS } from '../../../dataplane/constants.ts';
import {
  createEndpointTable,
  readEndpoint,
  writeEndpoint,
} from '../../../dataplane/wire/address.ts';
import { InitiationQueue } from '../../../dataplane/wireguard/initiation-queue.ts';
import { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import { endpointLayout } from '../../../dataplane/wireguard/tunnel.ts';
import { address, counting } from '../../support/dataplane/packets.ts';
import { peer, placed } from '../../support/dataplane/simulation.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const known = new KnownPeer(placed(peer({ key }), 41, 3), 5, 1, false);

test('what waits comes out in order, as it was when it came', (t) => {
  const endpoints = createEndpointTable(endpointLayout.total);
  const queue = new InitiationQueue(endpoints);
  const message = counting(148);
  for (const [i, of] of [null, known].entries()) {
    writeEndpoint(endpoints, 9, address('192.0.2.1'), 4_000 + i);
    t.true(queue.add(message.fill(i + 1), 9, 100 + i, of));
  }
  message.fill(0xff);
  t.is(queue.count, 2);
  const first = queue.take();
  t.deepEqual(queue.message(first).subarray(0, 148), new Uint8Array(148).fill(1));
  t.deepEqual(readEndpoint(endpoints, queue.from(first)), { address: '192.0.2.1', port: 4_000 });
  t.deepEqual([queue.since(first), queue.wasOpened(first)], [100, false]);
  const second = queue.take();
  t.deepEqual([queue.since(second), queue.wasOpened(second)], [101, true]);
  t.deepEqual([queue.slot(second), queue.generation(second)], [41, 3]);
  t.is(readEndpoint(endpoints, queue.from(second))!.port, 4_001);
  t.is(queue.count, 0);
});

test('a full queue takes no more until one was taken, round and round', (t) => {
  const queue = new InitiationQueue(createEndpointTable(endpointLayout.total));
  const message = counting(148);
  for (let i = 0; i < MAX_QUEUED_INITIATIONS; i++) t.true(queue.add(message, 0, i, null));
  t.false(queue.add(message, 0, -1, null));
  for (let i = 0; i < 2 * MAX_QUEUED_INITIATIONS; i++) {
    const place = queue.take();
    if (queue.since(place) !== i) t.fail(`${queue.since(place)} came in place of ${i}`);
    if (!queue.add(message, 0, MAX_QUEUED_INITIATIONS + i, null)) t.fail(`${i} found no room`);
  }
  t.is(queue.count, MAX_QUEUED_INITIATIONS);
});

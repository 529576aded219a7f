// One UDP socket of the twin: what waits in it, and for how much there is room.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { constants } from 'node:os';
import test from 'ava';
import { TwinDatagrams } from '../../../dataplane/io/twin-datagrams.ts';
import { soon } from '../../support/network/host-sockets.ts';

const { EAGAIN } = constants.errno;
const noted = (): void => undefined;

test('what is sent before the socket is ready goes out afterwards, in order', async (t) => {
  const host = createSocket('udp4').bind(0, '127.0.0.1');
  await once(host, 'listening');
  const got: number[] = [];
  host.on('message', (bytes) => got.push(bytes[0]!));
  const flow = new TwinDatagrams('127.0.0.1', host.address().port, noted, noted);
  const bytes = new Uint8Array(1);
  for (let i = 0; i < 100; i++) {
    // The sender may use its memory again at once.
    bytes[0] = i;
    t.is(flow.send(bytes), 0);
  }
  await soon(() => (got.length === 100 ? true : null));
  t.deepEqual(
    got,
    Array.from({ length: 100 }, (_, i) => i),
  );
  flow.close();
  host.close();
});

test('there is room for 256 datagrams, before it is ready and of those that came', async (t) => {
  const host = createSocket('udp4').bind(0, '127.0.0.1');
  await once(host, 'listening');
  let events = 0;
  let lost = 0;
  const flow = new TwinDatagrams(
    '127.0.0.1',
    host.address().port,
    () => void events++,
    () => void lost++,
  );
  const first = once(host, 'message');
  for (let i = 0; i < 256; i++) t.is(flow.send(new Uint8Array(1)), 0);
  t.is(flow.send(new Uint8Array(1)), -EAGAIN);
  const [, { port }] = (await first) as [Buffer, { port: number }];
  // In parts, because the kernel has room for few.
  for (const part of [100, 200, 300]) {
    for (let i = 0; i < 100; i++) host.send(new Uint8Array(1), port, '127.0.0.1');
    await soon(() => (events >= part ? true : null));
  }
  let taken = 0;
  while (flow.take() !== undefined) taken++;
  t.is(taken, 256);
  t.is(lost, 44);
  flow.close();
  host.close();
});

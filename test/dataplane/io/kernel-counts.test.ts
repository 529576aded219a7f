// What the kernel counts of our packets: only losses of our own sockets, and each count stays valid
// until the next look.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import {
  KernelCounts,
  lossesIn,
  readSocketLosses,
  readTableFill,
} from '../../../dataplane/io/kernel-counts.ts';

const TABLE = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  127: 00000000:CA6C 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0000000000000000 12
  128: 0100007F:CA6D 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0000000000000000 99
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 1127: 00000000000000000000000000000000:CA6C 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4713 2 0000000000000000 3
 1129: 00000000000000000000000000000000:00CA 00000000000000000000000000000000:CA6C 07 00000000:00000000 00:00000000 00000000     0        0 4713 2 0000000000000000 7
`;

test('losses are those of the sockets of one port, of both families', (t) => {
  t.is(lossesIn(TABLE, 0xca6c), 15);
  t.is(lossesIn(TABLE, 0xca), 7);
  t.is(lossesIn(TABLE, 4_711), 0);
  t.is(lossesIn('', 51_820), 0);
  t.is(lossesIn('a text of some other kind: 1:CA6C 2', 0xca6c), 0);
});

test('a loss of a socket is seen at the next look, and kept until the one after', async (t) => {
  const socket = createSocket('udp4');
  socket.bind({ address: '127.0.0.1', port: 0 });
  await once(socket, 'listening');
  const { port } = socket.address();
  const counts = new KernelCounts({
    listenPort: () => port,
    losses: () => null,
    unrelayed: () => 0,
    work: () => null,
    masquerade: () => null,
  });
  await counts.look();
  t.deepEqual(counts.drops, {});
  socket.setRecvBufferSize(2_048);
  // Nobody reads while this runs, so everything that comes has to fit.
  const { spawnSync } = await import('node:child_process');
  const program = `
    const socket = require('node:dgram').createSocket('udp4');
    let left = 500;
    const send = () => left-- > 0 ? socket.send(Buffer.alloc(1000), ${port}, '127.0.0.1', send) : socket.close();
    send();`;
  spawnSync(process.execPath, ['-e', program]);
  await counts.look();
  const lost = await readSocketLosses(port);
  t.true(lost > 0 && lost <= 500, `${lost}`);
  t.deepEqual(counts.drops, { udp_socket_full: lost });
  await counts.stop();
  socket.close();
  await sleep(0);
  t.deepEqual(counts.drops, { udp_socket_full: lost });
});

test('what the sockets say of their losses counts where they are known', async (t) => {
  let lost = 3;
  const counts = new KernelCounts({
    listenPort: () => 0,
    losses: () => lost,
    unrelayed: () => 0,
    work: () => null,
    masquerade: () => null,
  });
  await counts.look();
  t.deepEqual(counts.drops, { udp_socket_full: 3 });
  lost = 5;
  await counts.look();
  t.deepEqual(counts.drops, { udp_socket_full: 5 });
  await counts.stop();
});

test('counts are read where workers have worked since, and while one works', async (t) => {
  let work: number | null = 7;
  let looks = 0;
  const counts = new KernelCounts({
    listenPort: () => 0,
    losses: () => 0,
    unrelayed: () => 0,
    work: () => work,
    masquerade: () => {
      looks += 1;
      return { untranslatable: looks, tooManyFlows: 0 };
    },
  });
  const looksIn = async (seconds: number): Promise<number> => {
    const before = looks;
    for (let i = 0; i < seconds; i += 1) counts.beat();
    await counts.stop();
    return looks - before;
  };
  t.is(await looksIn(30), 1, 'what came before the first beat');
  work = 8;
  t.is(await looksIn(30), 1);
  t.deepEqual(counts.drops, { kernel_untranslatable: 2 });
  work = null;
  t.is(await looksIn(30), 6, 'a worker works');
  work = 9;
  t.is(await looksIn(4), 0, 'not each second');
  t.is(await looksIn(30), 1, 'what it did last');
});

test('the fill level of the connection table is a fraction, or unknown', (t) => {
  const fill = readTableFill();
  t.true(fill === null || (fill.entries >= 0 && fill.max > 0));
});

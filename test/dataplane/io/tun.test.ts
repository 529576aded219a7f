// The TUN of the TypeScript twin, on a pair of sockets in its place.

import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { TunFile } from '../../../dataplane/io/tun.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';

function open(
  t: ExecutionContext,
  native: Addon,
): { tun: TunFile; far: number; errors: () => number } {
  const [near, far] = native.openPair();
  t.teardown(() => native.closeFd(near));
  t.teardown(() => native.closeFd(far));
  let errors = 0;
  const tun = new TunFile(near, () => {
    errors++;
  });
  return { tun, far, errors: () => errors };
}

nativeTest('nothing to read is no error', (t, native) => {
  const { tun, errors } = open(t, native);
  t.is(tun.read(), null);
  t.is(errors(), 0);
  t.false(tun.isGone);
});

nativeTest('packets are read one by one, whole', (t, native) => {
  const { tun, far } = open(t, native);
  for (const length of [28, 1_420, 65_535]) writeSync(far, counting(length, length));
  for (const length of [28, 1_420, 65_535]) t.deepEqual(tun.read(), counting(length, length));
  t.is(tun.read(), null);
});

nativeTest('packets are written one by one, whole', (t, native) => {
  const { tun, far } = open(t, native);
  const buffer = new Uint8Array(70_000);
  for (const length of [28, 1_420, 65_535]) {
    tun.write(counting(length, length));
    t.deepEqual(buffer.slice(0, readSync(far, buffer)), counting(length, length));
  }
});

nativeTest('a TUN that has vanished is an error when read, and an exception when written', (t) => {
  let errors = 0;
  const tun = new TunFile(1_000_000, () => {
    errors++;
  });
  t.is(tun.read(), null);
  t.is(errors, 1);
  t.true(tun.isGone);
  t.throws(() => tun.write(counting(28)), { code: 'EBADF' });
});

/** A file in the place of a TUN, which fails as one may. */
function openFile(t: ExecutionContext, path: string): { tun: TunFile; errors: () => number } {
  const fd = openSync(path, 'r+');
  t.teardown(() => closeSync(fd));
  let errors = 0;
  const tun = new TunFile(fd, () => {
    errors++;
  });
  return { tun, errors: () => errors };
}

test('a read that fails is counted each time, and the TUN is not given up', (t) => {
  // Reading the memory at 0 gives EIO.
  const { tun, errors } = openFile(t, '/proc/self/mem');
  for (let i = 1; i <= 3; i++) {
    t.is(tun.read(), null);
    t.is(errors(), i);
    t.false(tun.isGone);
  }
});

test('a read of nothing is the end of a TUN, and no packet', (t) => {
  const { tun, errors } = openFile(t, '/dev/null');
  t.is(tun.read(), null);
  t.is(errors(), 1);
  t.true(tun.isGone);
});

test('a write that fails is an exception, and the next one is tried', (t) => {
  const { tun, errors } = openFile(t, '/dev/full');
  for (let i = 0; i < 3; i++) t.throws(() => tun.write(counting(28)), { code: 'ENOSPC' });
  t.is(errors(), 0);
  t.false(tun.isGone);
});

nativeTest('a TUN that takes nothing more throws, and takes again later', (t, native) => {
  const { tun, far } = open(t, native);
  const buffer = new Uint8Array(70_000);
  t.throws(
    () => {
      for (let i = 0; i < 100; i++) tun.write(counting(60_000));
    },
    { code: 'EAGAIN' },
  );
  readSync(far, buffer);
  readSync(far, buffer);
  t.notThrows(() => tun.write(counting(28)));
});

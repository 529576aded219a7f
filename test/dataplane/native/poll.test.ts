// Waiting: for datagrams, packets, the main thread, or a deadline.

import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import {
  EVENT_TUN,
  EVENT_TUN_GONE,
  EVENT_UDP,
  EVENT_WAKE,
  type NativeEngine,
} from '../../../dataplane/native/index.ts';
import { ERROR_TUN_READ } from '../../../dataplane/contract.ts';
import { NativeBench, openNative, TARGET } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';

function elapsed(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

const nothing = { udp4: -1, udp6: -1, wake: -1, tun: -1, tunTakesUdp: true, mtu: 1_420 };

nativeTest('without an event it waits for the given time, to about a millisecond', (t, native) => {
  const engine = openNative(native, nothing);
  for (const timeout of [0, 0.5, 5, 30]) {
    let events = -1;
    const took = elapsed(() => {
      events = engine.poll(timeout);
    });
    t.is(events, 0);
    t.true(took >= timeout - 0.1 && took < timeout + 500, `${timeout}: ${took}`);
  }
  engine.close();
});

nativeTest('each event has its own bit', (t, native) => {
  const bench = new NativeBench(native);
  try {
    t.is(bench.engine.poll(0), 0);
    bench.feed(counting(30, 0x45));
    t.is(bench.engine.poll(100), EVENT_TUN);
    bench.engine.readTun();
    t.is(bench.engine.poll(0), 0);
    bench.engine.send(counting(30), TARGET);
    bench.engine.flush();
    t.is(bench.listener.poll(100), EVENT_UDP);
    bench.listener.receive();
    t.is(bench.listener.poll(0), 0);
  } finally {
    bench.close();
  }
});

nativeTest('a wake ends the wait, once, however often it was rung', (t, native) => {
  const wake = native.openWake();
  const engine = openNative(native, { ...nothing, wake });
  for (let i = 0; i < 5; i++) native.wake(wake);
  t.is(engine.poll(1_000), EVENT_WAKE);
  t.is(engine.poll(0), 0);
  native.wake(wake);
  t.is(engine.poll(1_000), EVENT_WAKE);
  engine.close();
  native.closeFd(wake);
});

/** An engine whose TUN is a number that no file has, as after its removal. */
function withoutTun(native: Parameters<Parameters<typeof nativeTest>[1]>[1]): NativeEngine {
  return openNative(native, { ...nothing, tun: 1_000_000 });
}

nativeTest('a TUN that has vanished is reported once, and no longer waited for', (t, native) => {
  const engine = withoutTun(native);
  t.is(engine.poll(1_000) & EVENT_TUN_GONE, EVENT_TUN_GONE);
  t.is(engine.poll(0), 0);
  t.true(elapsed(() => engine.poll(20)) >= 19);
  engine.close();
});

nativeTest('reading a TUN that has vanished is an error, not an exception', (t, native) => {
  const engine = withoutTun(native);
  engine.readTun();
  t.is(engine.packets.count, 0);
  t.is(engine.errors[ERROR_TUN_READ], 1);
  t.is(engine.poll(0), EVENT_TUN_GONE, 'a read that finds it first does not keep it to itself');
  t.is(engine.poll(0), 0);
  engine.close();
});

nativeTest('reading a TUN whose other end is closed comes to an end', async (t) => {
  const folder = new URL('../../../dataplane/', import.meta.url).href;
  // In a process of its own, because an endless loop in the addon cannot be stopped from outside.
  const script = `
    import { loadAddon, NativeEngine } from '${folder}native/index.ts';
    import { createEndpointTable } from '${folder}wire/address.ts';
    const { addon } = loadAddon();
    const [near, far] = addon.openPair();
    const options = { ...${JSON.stringify(nothing)}, tun: near };
    const engine = new NativeEngine(addon, addon, createEndpointTable(64), 64, options);
    addon.closeFd(far);
    engine.readTun();
    process.stdout.write(String(engine.packets.count));
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script],
    { timeout: 3_000 },
  ).catch(() => ({ stdout: 'it did not' }));
  t.is(stdout, '0');
});

nativeTest('a timeout that is no time waits for an event all the same', (t, native) => {
  const wake = native.openWake();
  const engine = openNative(native, { ...nothing, wake });
  try {
    for (const timeout of [Number.POSITIVE_INFINITY, Number.NaN, 1e300, -1]) {
      native.wake(wake);
      t.is(engine.poll(timeout), EVENT_WAKE, `${timeout}`);
    }
  } finally {
    engine.close();
    native.closeFd(wake);
  }
});

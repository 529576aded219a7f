// The packet path is compiled before the first packet, and stays compiled.

import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Judge } from '../../../dataplane/filter/judge.ts';
import { systemClock } from '../../../dataplane/io/clock.ts';
import { choosePrimitives, systemRandom } from '../../../dataplane/io/crypto.ts';
import { type Addon, NativeEngine } from '../../../dataplane/native/index.ts';
import { PacketPath } from '../../../dataplane/path/path.ts';
import { Pipeline } from '../../../dataplane/worker/pipeline.ts';
import { Turns } from '../../../dataplane/worker/turns.ts';
import { warmUp, type WarmUpOptions } from '../../../dataplane/worker/warm-up.ts';
import { Receiver } from '../../../dataplane/wireguard/receive.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { coreMs, isOptimized, type Method } from '../../support/suite/compiled.ts';
import { collectGarbage } from '../../support/suite/kept-memory.ts';

const optionsOf = (addon: Addon): WarmUpOptions => ({
  addon,
  Engine: NativeEngine,
  primitives: choosePrimitives(addon),
  random: systemRandom,
  // Its time runs only while this thread has a core, so other work on this machine costs no round.
  clock: { ...systemClock(addon.bootTime), now: () => coreMs() },
  isAwaited: () => false,
  hasSockets: false,
});

const openFiles = (): number => readdirSync('/proc/self/fd').length;

const methods: readonly Method[] = [
  [Turns, 'move'],
  [PacketPath, 'inward'],
  [PacketPath, 'outward'],
  [Pipeline, 'inbound'],
  [Receiver, 'classify'],
  [Judge, 'fromPeer'],
  [Judge, 'toPeer'],
];

nativeTest('it compiles the packet path, and closes what it opened', async (t, native) => {
  for (const method of methods) t.false(isOptimized(method), method[1]);
  const before = openFiles();
  const { rounds, answered } = warmUp(optionsOf(native));
  t.is(openFiles(), before);
  // Time is over before all rounds are made where cores are slow. A datagram may come late.
  t.true(rounds > 100, `${rounds} rounds`);
  t.true(answered > 0.9 * rounds, `${answered} of ${rounds} rounds`);
  // V8 compiles on other threads.
  await sleep(100);
  warmUp(optionsOf(native));
  for (const method of methods) t.true(isOptimized(method), method[1]);
  collectGarbage();
  for (const method of methods) t.true(isOptimized(method), `${method[1]} after a collection`);
});

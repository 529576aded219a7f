// Where packets leave by sockets, what carries them is compiled before the first packet, too.

import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../dataplane/io/clock.ts';
import { choosePrimitives, systemRandom } from '../../../dataplane/io/crypto.ts';
import { type Addon, NativeEngine } from '../../../dataplane/native/index.ts';
import { Connections } from '../../../dataplane/sockets/connections.ts';
import { SocketEgress } from '../../../dataplane/sockets/egress.ts';
import { Flows } from '../../../dataplane/sockets/flows.ts';
import { TcpMachine } from '../../../dataplane/tcp/machine.ts';
import { warmUp, type WarmUpOptions } from '../../../dataplane/worker/warm-up.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { coreMs, isOptimized, type Method } from '../../support/suite/compiled.ts';
import { collectGarbage } from '../../support/suite/kept-memory.ts';

const optionsOf = (addon: Addon): WarmUpOptions => ({
  addon,
  Engine: NativeEngine,
  primitives: choosePrimitives(addon),
  random: systemRandom,
  clock: { ...systemClock(addon.bootTime), now: () => coreMs() },
  isAwaited: () => false,
  hasSockets: true,
});

const methods: readonly Method[] = [
  [SocketEgress, 'write'],
  [SocketEgress, 'read'],
  [Connections, 'take'],
  [Connections, 'received'],
  [Connections, 'read'],
  [Connections, 'make'],
  [Flows, 'take'],
  [TcpMachine, 'receive'],
  [TcpMachine, 'make'],
];

const openFiles = (): number => readdirSync('/proc/self/fd').length;

nativeTest('it compiles the sockets and their TCP, and opens no socket', async (t, native) => {
  for (const method of methods) t.false(isOptimized(method), method[1]);
  const before = openFiles();
  const { calls } = warmUp(optionsOf(native));
  t.is(openFiles(), before);
  // Connections were opened, asked, answered and closed.
  t.true(calls > 20, `${calls} connections`);
  // V8 compiles on other threads.
  await sleep(100);
  warmUp(optionsOf(native));
  for (const method of methods) t.true(isOptimized(method), method[1]);
  collectGarbage();
  for (const method of methods) t.true(isOptimized(method), `${method[1]} after a collection`);
});

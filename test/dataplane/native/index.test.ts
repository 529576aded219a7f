// The surface of the addon: what it offers to the main thread, how it answers invalid calls, its
// threads, lifetimes and keys.

import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { SLOT_BYTES } from '../../../dataplane/constants.ts';
import { DESCRIPTOR_WORDS, MARK_OPEN, MARK_SEAL } from '../../../dataplane/contract.ts';
import { type Addon, loadAddon, NativeEngine } from '../../../dataplane/native/index.ts';
import { portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { createEndpointTable } from '../../../dataplane/wire/address.ts';
import { setMarks, NativeBench, openNative, place } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';

const bytes = (length: number): Uint8Array => new Uint8Array(length);

const nothing = { udp4: -1, udp6: -1, wake: -1, tun: -1, tunTakesUdp: true, mtu: 1_420 };

test('loading returns the addon, or says why there is none', (t) => {
  const loaded = loadAddon();
  if (loaded.addon === null) t.regex(loaded.reason, /./);
  else t.is(typeof loaded.addon.createEngine, 'function');
});

// ---- what the operating system gives ---------------------------------------------------------

nativeTest('a socket is bound to a free port, on all addresses of its family', (t, native) => {
  const fds = [native.openUdp(false, 0), native.openUdp(true, 0)];
  for (const fd of fds) {
    t.true(native.boundPort(fd) > 0);
    native.closeFd(fd);
  }
});

nativeTest('both families share one port', (t, native) => {
  const v4 = native.openUdp(false, 0);
  const port = native.boundPort(v4);
  const v6 = native.openUdp(true, port);
  t.is(native.boundPort(v6), port);
  native.closeFd(v4);
  native.closeFd(v6);
});

nativeTest('a socket says how many datagrams it has lost', async (t, native) => {
  const fd = native.openUdp(false, 0);
  t.teardown(() => native.closeFd(fd));
  t.is(native.socketLosses(fd), 0);
  const socket = createSocket('udp4');
  const send = (): Promise<void> =>
    new Promise((resolve) => {
      socket.send(bytes(60_000), native.boundPort(fd), '127.0.0.1', () => resolve());
    });
  // Nobody reads, and the buffer has at most 16 MiB.
  for (let i = 0; i < 600 && native.socketLosses(fd) === 0; i++) await send();
  t.true(native.socketLosses(fd) > 0);
  socket.close();
  t.throws(() => native.socketLosses(-1), { message: /bad file descriptor/i });
});

nativeTest('a program that the process becomes has a socket that is kept, alone', (t) => {
  const program = `
    import { readdirSync, readlinkSync } from 'node:fs';
    import { loadAddon } from '${new URL('../../../dataplane/native/index.ts', import.meta.url).href}';
    const { addon } = loadAddon();
    const [kept] = [addon.openUdp(false, 0), addon.openUdp(false, 0)];
    addon.keepOnExec(kept);
    addon.defaultSignals();
    process.removeAllListeners('warning');
    const look = 'for fd in /proc/self/fd/*; do case $fd in */[012]) ;; *) readlink "$fd";; esac; done | grep -c socket; grep SigIgn /proc/self/status';
    process.execve('/bin/sh', ['sh', '-c', look], process.env);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [sockets, ignored = ''] = stdout.split('\n');
  t.is(sockets, '1', stderr);
  // SIGPIPE is 13, SIGXFSZ 25.
  const signals = Number.parseInt(ignored.replace('SigIgn:', '').trim(), 16);
  t.is(signals & ((1 << 12) | (1 << 24)), 0, ignored);
});

nativeTest('a port that is taken is refused by that name', (t, native) => {
  for (const isIpv6 of [false, true]) {
    const fd = native.openUdp(isIpv6, 0);
    const error = t.throws(() => native.openUdp(isIpv6, native.boundPort(fd)));
    t.is((error as NodeJS.ErrnoException).code, 'EADDRINUSE');
    native.closeFd(fd);
  }
});

nativeTest('a closed port is free again', (t, native) => {
  const fd = native.openUdp(false, 0);
  const port = native.boundPort(fd);
  native.closeFd(fd);
  const again = native.openUdp(false, port);
  t.is(native.boundPort(again), port);
  native.closeFd(again);
});

nativeTest('a pair carries whole packets both ways, in order', (t, native) => {
  const [a, b] = native.openPair();
  const buffer = new Uint8Array(100);
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    writeSync(from, counting(20));
    writeSync(from, counting(30));
    t.is(readSync(to, buffer), 20);
    t.is(readSync(to, buffer), 30);
    t.throws(() => readSync(to, buffer), { code: 'EAGAIN' });
  }
  native.closeFd(a);
  native.closeFd(b);
});

nativeTest('boot time goes forward and is that of the machine', (t, native) => {
  const first = native.bootTime();
  const uptimeMs = 1_000 * Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  t.true(Math.abs(first - uptimeMs) < 2_000);
  t.true(native.bootTime() >= first);
});

nativeTest('an interface that is not there cannot be changed', (t, native) => {
  const missing = { code: 'ENODEV' };
  t.throws(() => native.setLink('postern-none', 1_420), missing);
  t.throws(() => native.isLinkUp('postern-none'), missing);
  t.throws(() => native.addAddress('postern-none', new Uint8Array([10, 0, 0, 1]), 24), missing);
  for (const isAdded of [true, false])
    t.throws(() => native.changeRoute('postern-none', new Uint8Array(4), 24, isAdded), missing);
});

nativeTest('whether an interface is up is what the kernel says', (t, native) => {
  const flags = Number(readFileSync('/sys/class/net/lo/flags', 'utf8'));
  t.is(native.isLinkUp('lo'), (flags & 1) === 1);
});

nativeTest('a name that is too long for an interface is refused, not shortened', (t, native) => {
  for (const name of ['', 'a-name-longer-than-fifteen'])
    t.throws(() => native.setLink(name, 1_420), { instanceOf: TypeError }, name);
});

// ---- nonsense --------------------------------------------------------------------------------

const junk: readonly unknown[] = [
  undefined,
  null,
  true,
  -1,
  1.5,
  Number.NaN,
  2 ** 40,
  'text',
  {},
  [],
  new Uint8Array(0),
  new Uint8Array(31),
  new Uint8Array(33),
  new Uint16Array(32),
  new Float64Array(4),
  new ArrayBuffer(32),
  new DataView(new ArrayBuffer(32)),
  Symbol('x'),
  10n,
  () => undefined,
];

/** Replaces one argument after the other by junk: at worst there is an exception. */
function callWithJunk(call: (...args: unknown[]) => unknown, good: readonly unknown[]): number {
  let thrown = 0;
  for (let i = 0; i < good.length; i++) {
    for (const one of junk) {
      const args = [...good];
      args[i] = one;
      try {
        call(...args);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        thrown++;
      }
    }
  }
  return thrown;
}

const primitiveCalls: readonly [name: keyof Addon, args: readonly unknown[]][] = [
  ['publicKey', [bytes(32), bytes(32)]],
  ['sharedSecret', [bytes(32), bytes(32), bytes(32)]],
  ['hash', [bytes(32), bytes(10), bytes(10)]],
  ['mac', [bytes(16), bytes(32), bytes(10)]],
  ['hkdf', [bytes(32), bytes(10), bytes(32), bytes(32), bytes(32)]],
  ['seal', [bytes(26), bytes(32), bytes(12), bytes(10), bytes(5)]],
  ['open', [bytes(10), bytes(32), bytes(12), bytes(26), bytes(5)]],
  ['xseal', [bytes(26), bytes(32), bytes(24), bytes(10), bytes(5)]],
  ['xopen', [bytes(10), bytes(32), bytes(24), bytes(26), bytes(5)]],
];

for (const [name, args] of primitiveCalls) {
  nativeTest(
    `${name} refuses arguments of a wrong kind or length with an exception`,
    (t, native) => {
      const call = native[name] as unknown as (...list: unknown[]) => unknown;
      t.notThrows(() => call(...args));
      t.true(callWithJunk(call, args) > junk.length);
      t.throws(() => call());
    },
  );
}

nativeTest('an output must have exactly the room that is needed', (t, native) => {
  const [key, nonce] = [bytes(32), bytes(12)];
  t.throws(() => native.hash(bytes(31), key, key), { instanceOf: TypeError });
  t.throws(() => native.hash(bytes(33), key, key), { instanceOf: TypeError });
  t.throws(() => native.mac(bytes(0), key, key), { instanceOf: TypeError });
  t.throws(() => native.mac(bytes(33), key, key), { instanceOf: TypeError });
  t.throws(() => native.mac(bytes(16), bytes(33), key), { instanceOf: TypeError });
  t.throws(() => native.seal(bytes(25), key, nonce, bytes(10), key), { instanceOf: TypeError });
  t.throws(() => native.seal(bytes(27), key, nonce, bytes(10), key), { instanceOf: TypeError });
  t.throws(() => native.open(bytes(11), key, nonce, bytes(26), key), { instanceOf: TypeError });
  t.throws(() => native.open(bytes(0), key, nonce, bytes(15), key), { instanceOf: TypeError });
  t.throws(() => native.seal(bytes(26), key, bytes(11), bytes(10), key), { instanceOf: TypeError });
  t.throws(() => native.hkdf(key, key, bytes(31), null, null), { instanceOf: TypeError });
});

nativeTest('an engine refuses options that lack something or are too short', (t, native) => {
  const create = (options: unknown): unknown => native.createEngine(options as never);
  const good = {
    ...nothing,
    datagrams: bytes(64 * SLOT_BYTES),
    datagramDescriptors: new Int32Array(64 * 64 * DESCRIPTOR_WORDS),
    packets: bytes(64 * SLOT_BYTES),
    packetDescriptors: new Int32Array(64 * DESCRIPTOR_WORDS),
    endpoints: bytes(64 * 64),
    endpointCount: 64,
    errors: new Float64Array(4),
    self: 0,
    workers: 1,
    handedEndpoints: 64,
  };
  t.notThrows(() => (create(good) as { close: () => void }).close());
  for (const name of Object.keys(good)) {
    const without = { ...good, [name]: undefined };
    t.throws(() => create(without), { instanceOf: TypeError }, name);
  }
  const short = {
    datagrams: bytes(64 * SLOT_BYTES - 1),
    datagramDescriptors: new Int32Array(64 * 64 * DESCRIPTOR_WORDS - 1),
    packets: bytes(64 * SLOT_BYTES - 1),
    packetDescriptors: new Int32Array(64 * DESCRIPTOR_WORDS - 1),
    endpoints: bytes(64 * 64 - 1),
    endpointCount: 63,
    errors: new Float64Array(3),
  };
  for (const [name, value] of Object.entries(short))
    t.throws(() => create({ ...good, [name]: value }), { instanceOf: TypeError }, name);
  t.throws(() => create({ ...good, errors: bytes(32) }), { instanceOf: TypeError });
});

nativeTest('an engine refuses more descriptors than its batches have', (t, native) => {
  const engine = openNative(native, nothing);
  for (const count of [-1, 65, 2 ** 31 - 1]) {
    engine.packets.count = count;
    for (const call of ['open', 'seal', 'writeTun'] as const)
      if (call !== 'writeTun' || count < 0)
        t.throws(() => engine[call](engine.packets), { instanceOf: TypeError }, `${call} ${count}`);
  }
  engine.datagrams.count = 64 * 64 + 1;
  t.throws(() => engine.open(engine.datagrams), { instanceOf: TypeError });
  engine.close();
});

nativeTest('a key has 32 bytes', (t, native) => {
  const engine = openNative(native, nothing);
  t.throws(() => engine.installKey(bytes(31), bytes(32), 1), { instanceOf: TypeError });
  t.throws(() => engine.installKey(bytes(32), bytes(33), 1), { instanceOf: TypeError });
  engine.close();
});

nativeTest('a closed engine does nothing but say so; closing it again is no harm', (t, native) => {
  const engine = openNative(native, nothing);
  const key = engine.installKey(counting(32), counting(32), 1)!;
  engine.close();
  engine.close();
  const closed = { message: 'the engine is closed' };
  t.throws(() => engine.poll(0), closed);
  t.throws(() => engine.receive(), closed);
  t.throws(() => engine.readTun(), closed);
  t.throws(() => engine.flush(), closed);
  t.throws(() => engine.sendRoom(), closed);
  t.throws(() => engine.open(engine.datagrams), closed);
  t.throws(() => engine.seal(engine.packets), closed);
  t.throws(() => engine.writeTun(engine.packets), closed);
  t.throws(() => engine.send(bytes(10), 0), closed);
  t.throws(() => engine.installKey(bytes(32), bytes(32), 1), closed);
  t.throws(() => engine.removeKey(key.slot, key.generation), closed);
});

// ---- threads ---------------------------------------------------------------------------------

nativeTest('each thread has engines of its own, which are freed when it ends', async (t) => {
  const folder = new URL('../../../dataplane/', import.meta.url).href;
  const script = `
    import { parentPort } from 'node:worker_threads';
    import { loadAddon, NativeEngine } from '${folder}native/index.ts';
    import { createEndpointTable } from '${folder}wire/address.ts';
    const { addon } = loadAddon();
    const engine = new NativeEngine(addon, addon, createEndpointTable(64), 64, ${JSON.stringify(nothing)});
    engine.installKey(new Uint8Array(32), new Uint8Array(32), 1);
    // The thread ends without closing the engine.
    parentPort.postMessage(engine.kind);
  `;
  const workers = Array.from(
    { length: 3 },
    () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`)),
  );
  const said = await Promise.all(
    workers.map(
      (worker) =>
        new Promise((resolve, reject) => {
          let message: unknown;
          worker.on('message', (value) => {
            message = value;
          });
          worker.on('error', reject);
          worker.on('exit', () => resolve(message));
        }),
    ),
  );
  t.deepEqual(said, ['native', 'native', 'native']);
});

nativeTest('an engine keeps its arenas when nobody else does', (t, native) => {
  const endpoints = createEndpointTable(64);
  const engines = Array.from(
    { length: 4 },
    () => new NativeEngine(native, portablePrimitives, endpoints, 64, nothing),
  );
  for (const engine of engines) {
    engine.packets.bytes.fill(7);
    engine.seal(engine.packets);
  }
  t.true(engines.every((engine) => engine.packets.bytes[100] === 7));
  for (const engine of engines) engine.close();
});

// ---- lifetimes -------------------------------------------------------------------------------

nativeTest('memory that the addon holds cannot be given to another thread', (t, native) => {
  const { engine } = new NativeBench(native);
  const held = [
    engine.datagrams.bytes,
    engine.datagrams.descriptors,
    engine.packets.bytes,
    engine.packets.descriptors,
    engine.endpoints.bytes,
    engine.errors,
  ].map(({ buffer }) => buffer as ArrayBuffer);
  for (const buffer of held) {
    t.throws(() => void structuredClone(buffer, { transfer: [buffer] }), {
      name: 'DataCloneError',
    });
    t.true(buffer.byteLength > 0);
  }
});

nativeTest('an engine is not made of numbers that are none, or of crooked memory', (t, native) => {
  const make = (changes: object): unknown => {
    const { engine } = new NativeBench(native);
    return native.createEngine({
      ...nothing,
      datagrams: engine.datagrams.bytes,
      datagramDescriptors: engine.datagrams.descriptors,
      packets: engine.packets.bytes,
      packetDescriptors: engine.packets.descriptors,
      endpoints: engine.endpoints.bytes,
      endpointCount: 128,
      errors: engine.errors,
      self: 0,
      workers: 1,
      handedEndpoints: 128,
      sleeping: new Int32Array(0),
      others: [],
      ...changes,
    });
  };
  t.notThrows(() => make({}));
  for (const changes of [
    { mtu: -1 },
    { mtu: Number.NaN },
    { mtu: 1e300 },
    { udp4: 2 ** 40 },
    { endpointCount: 63 },
    { endpointCount: -1 },
    { endpointCount: 129 },
    { endpoints: new Uint8Array(new ArrayBuffer(128 * 64 + 1), 1) },
    { errors: new Float64Array(1) },
  ])
    t.throws(() => make(changes), { instanceOf: TypeError }, JSON.stringify(changes));
});

// ---- keys ------------------------------------------------------------------------------------

nativeTest('a removed key is nowhere in memory, nor in a cipher', (t, native) => {
  const { engine } = new NativeBench(native);
  // Bytes of an ArrayBuffer of this size are outside the heap, which would move and copy them.
  const keys = new Uint8Array(4_096);
  globalThis.crypto.getRandomValues(keys);
  const [send, receive] = [keys.subarray(0, 32), keys.subarray(32, 64)];
  const inverted = Int32Array.from(new Int32Array(keys.buffer, 0, 16), (word) => ~word);
  const { slot, generation } = engine.installKey(send, receive, 1)!;
  keys.fill(0);
  setMarks(engine.packets, 0, {
    mark: MARK_SEAL,
    key: { slot, generation },
    offset: 64,
    length: 100,
  });
  engine.seal(engine.packets);
  place(engine.datagrams, 0, counting(132), { mark: MARK_OPEN, key: { slot, generation } });
  engine.open(engine.datagrams);
  t.true(isInMemory(inverted.subarray(0, 8)), 'the key to send with serves');
  t.true(isInMemory(inverted.subarray(8)), 'the key to receive with serves');
  engine.removeKey(slot, generation);
  t.false(isInMemory(inverted.subarray(0, 8)));
  t.false(isInMemory(inverted.subarray(8)));
});

/** None of our memory is mapped in one piece of this size; the notes of a sanitizer are. */
const LARGE_MAPPING_BYTES = 2 ** 30;

/**
 * Whether words are in memory. They are given inverted, so that the search does not find itself.
 */
function isInMemory(inverted: Int32Array): boolean {
  const memory = openSync('/proc/self/mem', 'r');
  const chunk = new Int32Array(1 << 18);
  try {
    for (const line of readFileSync('/proc/self/maps', 'latin1').split('\n')) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)];
      if (end - start > LARGE_MAPPING_BYTES) continue;
      for (let at = start; at < end; at += chunk.byteLength - 32) {
        const read = readQuietly(memory, chunk, Math.min(chunk.byteLength, end - at), at);
        if (holds(chunk, read >> 2, inverted)) return true;
      }
    }
    return false;
  } finally {
    chunk.fill(0);
    closeSync(memory);
  }
}

/** Some of what the kernel maps cannot be read. */
function readQuietly(fd: number, chunk: Int32Array, length: number, position: number): number {
  try {
    return readSync(fd, chunk, 0, length, position);
  } catch {
    return 0;
  }
}

function holds(words: Int32Array, count: number, inverted: Int32Array): boolean {
  const first = ~inverted[0]!;
  for (let at = words.indexOf(first); at >= 0 && at < count; at = words.indexOf(first, at + 1))
    if (inverted.every((word, i) => words[at + i] === ~word)) return true;
  return false;
}

// ---- time slices -----------------------------------------------------------------------------

nativeTest('a thread may run soon after it wakes, and keeps its weight', (t, native) => {
  const read = (): string => readFileSync('/proc/thread-self/sched', 'utf8');
  const weightOf = (text: string): string => /^se\.load\.weight\s*:\s*(\d+)$/m.exec(text)![1]!;
  // A run that was started by `nice` has another weight than most.
  const before = weightOf(read());
  t.true(native.useShortSlices());
  const scheduling = read();
  // Nanoseconds; a kernel before Linux 6.12 has no slices to ask for.
  const slice = /^se\.slice\s*:\s*(\d+)$/m.exec(scheduling)?.[1];
  if (slice !== undefined) t.is(slice, '100000');
  t.is(weightOf(scheduling), before);
});

// ---- what OpenSSL lacks ----------------------------------------------------------------------

nativeTest('an OpenSSL without the cipher is an error with a name, not an abort', (t) => {
  const script = `
    const { setFips } = await import('node:crypto');
    const { loadAddon } = await import('./dataplane/native/index.ts');
    const { openNative } = await import('./test/support/dataplane/native.ts');
    setFips(true);
    try { openNative(loadAddon().addon, ${JSON.stringify(nothing)}); }
    catch (error) { console.log(error.message); }`;
  const { stdout, signal } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { cwd: join(import.meta.dirname, '../../..'), encoding: 'utf8' },
  );
  t.is(signal, null);
  t.regex(stdout, /^OpenSSL gives no ChaCha20-Poly1305/);
});

// ---- redirected connections ------------------------------------------------------------------

nativeTest('a connection that nobody redirected names no other destination', async (t, native) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const coming = once(server, 'connection');
  const client = connect(port, '127.0.0.1');
  const [socket] = (await coming) as [{ readonly _handle: { readonly fd: number } }];
  const { fd } = socket._handle;
  t.true(fd >= 0, 'Node names the descriptor of a socket');
  t.is(native.originalDestination(fd), null);
  t.is(native.originalDestination(-1), null);
  client.destroy();
  server.close();
});

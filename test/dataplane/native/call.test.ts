// How the addon treats arguments that are nearly right: numbers that do not fit 32 bits, texts that
// C++ would read as shorter ones, and memory that could move.

import { execFile } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { createPrivateKey } from 'node:crypto';
import process from 'node:process';
import { promisify } from 'node:util';
import { SLOT_BYTES } from '../../../dataplane/constants.ts';
import {
  DESCRIPTOR_WORDS,
  MARK_OPEN,
  MARK_OPEN_FAILED,
  MARK_SEAL,
  MARK_SEALED,
  MARK_TUN,
  type KeyHandle,
} from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { setMarks, NativeBench, place, markOf } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';

const refusal = { instanceOf: TypeError };
/** A bit that the lower 32 bits of a number do not show. */
const TURN = 2 ** 32;

/** Numbers that are no 32-bit whole number; C++ would turn each into one. */
const notWhole = [Number.NaN, Number.POSITIVE_INFINITY, 0.5, -0.5, TURN, -TURN];

/** All arguments of an engine, valid. */
function options(): Record<string, unknown> {
  return {
    udp4: -1,
    udp6: -1,
    wake: -1,
    tun: -1,
    tunTakesUdp: true,
    mtu: 1_420,
    datagrams: new Uint8Array(64 * SLOT_BYTES),
    datagramDescriptors: new Int32Array(64 * 64 * DESCRIPTOR_WORDS),
    packets: new Uint8Array(64 * SLOT_BYTES),
    packetDescriptors: new Int32Array(64 * DESCRIPTOR_WORDS),
    endpoints: new Uint8Array(64 * 64),
    endpointCount: 64,
    errors: new Float64Array(4),
  };
}

function create(native: Addon, changes: object): unknown {
  return native.createEngine(changes as Parameters<Addon['createEngine']>[0]);
}

// ---- numbers ---------------------------------------------------------------------------------

nativeTest('a number too large is not cut to the descriptor of another file', (t, native) => {
  const fd = openSync(import.meta.filename, 'r');
  for (const call of [
    () => native.closeFd(TURN + fd),
    () => native.closeFd(fd + 0.5),
    () => native.wake(TURN + fd),
    () => native.boundPort(TURN + fd),
  ])
    t.throws(call, refusal);
  t.true(fstatSync(fd).isFile());
  closeSync(fd);
});

nativeTest('no number that is no whole one stands for the first file', (t, native) => {
  for (const number of notWhole) {
    t.throws(() => native.closeFd(number), refusal, `${number}`);
    t.throws(() => native.wake(number), refusal, `${number}`);
  }
});

nativeTest('a port, a prefix and an MTU are refused where they would be cut', (t, native) => {
  for (const port of [-1, 65_536, 70_000, ...notWhole])
    t.throws(() => native.openUdp(false, port), refusal, `${port}`);
  const ipv4 = new Uint8Array([10, 0, 0, 1]);
  for (const bits of [-1, 33, 256 + 24, ...notWhole])
    t.throws(() => native.addAddress('postern-none', ipv4, bits), refusal, `${bits}`);
  for (const bits of [129, 256 + 64])
    t.throws(() => native.addAddress('postern-none', new Uint8Array(16), bits), refusal);
  for (const bits of [-1, 33, ...notWhole])
    t.throws(() => native.changeRoute('postern-none', ipv4, bits, true), refusal, `${bits}`);
  t.throws(() => native.changeRoute('postern-none', new Uint8Array(5), 8, true), refusal);
  for (const mtu of [0, -1, 65_536, TURN + 1_420, ...notWhole])
    t.throws(() => native.setLink('postern-none', mtu), refusal, `${mtu}`);
});

nativeTest('a key, an endpoint and a batch are not found by cut numbers', (t, native) => {
  const bench = new NativeBench(native);
  try {
    const { engine } = bench;
    const key = engine.installKey(counting(32), counting(32), 1) as KeyHandle;
    for (const wrong of [TURN + key.slot, key.slot + 0.5, ...notWhole]) {
      t.throws(() => engine.removeKey(wrong, key.generation), refusal, `${wrong}`);
      t.throws(() => engine.removeKey(key.slot, wrong), refusal, `${wrong}`);
      t.throws(() => engine.send(counting(40), wrong), refusal, `${wrong}`);
      engine.packets.count = wrong;
      t.throws(() => engine.seal(engine.packets), refusal, `${wrong}`);
      engine.packets.count = 0;
    }
    setMarks(engine.packets, 0, { mark: MARK_SEAL, key, offset: 64, length: 40 });
    engine.seal(engine.packets);
    t.is(markOf(engine.packets, 0), MARK_SEALED, 'the key is still there');
  } finally {
    bench.close();
  }
});

nativeTest('an index of the other side is any word, signed or not', (t, native) => {
  const bench = new NativeBench(native);
  try {
    const { engine } = bench;
    for (const index of [0, TURN - 1, -1, 2 ** 31, -(2 ** 31)])
      t.not(engine.installKey(counting(32), counting(32), index), null, `${index}`);
    for (const index of [TURN, -(2 ** 31) - 1, 0.5, Number.NaN])
      t.throws(() => engine.installKey(counting(32), counting(32), index), refusal, `${index}`);
  } finally {
    bench.close();
  }
});

nativeTest('an engine is not made of numbers that would have to be rounded', (t, native) => {
  for (const name of ['udp4', 'udp6', 'tun', 'wake', 'mtu', 'endpointCount'])
    t.throws(() => create(native, { ...options(), [name]: 64.5 }), refusal, name);
});

// ---- texts and bytes -------------------------------------------------------------------------

nativeTest('a name with a zero byte in it is not read as the shorter name', (t, native) => {
  t.throws(() => native.setLink('postern-none\0x', 1_420), refusal);
  t.throws(() => native.addAddress('postern-none\0', new Uint8Array(4), 24), refusal);
  t.throws(() => native.openTun('\0', false), refusal);
});

nativeTest(
  'more bytes than any message has are refused: OpenSSL would count only some',
  (t, native) => {
    const long = new Uint8Array(2 ** 20 + 1);
    const [key, nonce] = [counting(32), counting(12)];
    t.throws(() => native.seal(new Uint8Array(17), key, nonce, new Uint8Array(1), long), refusal);
    t.throws(() => native.seal(new Uint8Array(long.length + 16), key, nonce, long, key), refusal);
    t.throws(() => native.open(new Uint8Array(1), key, nonce, new Uint8Array(17), long), refusal);
    t.throws(() => native.hash(new Uint8Array(32), long, key), refusal);
  },
);

nativeTest('arrays of two bytes, floating or whole, are no bytes', (t, native) => {
  const out = new Uint8Array(32);
  for (const other of [new Uint16Array(32), halfFloats(), new Uint8ClampedArray(32)]) {
    // First a good call: what it leaves on the stack must not count for the next one.
    native.hash(out, counting(32), counting(32));
    t.throws(() => native.hash(other as unknown as Uint8Array, out, out), refusal);
    t.throws(() => create(native, { ...options(), packetDescriptors: other }), refusal);
  }
});

/** Node has these functions, but the types do not know them yet. */
function halfFloats(): object {
  const { Float16Array: made } = globalThis as unknown as {
    Float16Array: new (length: number) => object;
  };
  return new made(32);
}

// ---- memory ----------------------------------------------------------------------------------

nativeTest('memory that may shrink, or that other threads write, is not taken', (t, native) => {
  const bytes = 64 * SLOT_BYTES;
  const resizable = new Uint8Array(new ArrayBuffer(bytes, { maxByteLength: bytes }));
  const tracking = new Uint8Array(new ArrayBuffer(bytes, { maxByteLength: 2 * bytes }), 0);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes));
  const detached = new Uint8Array(bytes);
  detached.buffer.transfer();
  for (const memory of [resizable, tracking, shared, detached])
    for (const name of ['datagrams', 'packets', 'endpoints'])
      t.throws(() => create(native, { ...options(), [name]: memory }), refusal, name);
});

nativeTest('what is detached while the options are read is not taken either', (t, native) => {
  const good = options();
  const { errors } = good;
  const trap = {
    ...good,
    get errors() {
      (good['packets'] as Uint8Array<ArrayBuffer>).buffer.transfer(0);
      return errors;
    },
  };
  t.throws(() => create(native, trap), refusal);
});

nativeTest('an exception of an option is the one that is thrown', (t, native) => {
  const trap = {
    ...options(),
    get packets(): never {
      throw new RangeError('not today');
    },
  };
  t.throws(() => create(native, trap), { instanceOf: RangeError, message: 'not today' });
});

// ---- what is left behind ---------------------------------------------------------------------

nativeTest('a key that OpenSSL refuses leaves no error for the next one who asks', (t, native) => {
  // A point of low order: the shared secret is zero.
  t.false(native.sharedSecret(new Uint8Array(32), counting(32), new Uint8Array(32)));
  const sealed = new Uint8Array(26);
  t.false(native.open(sealed.subarray(0, 10), counting(32), counting(12), sealed, sealed));
  const error = t.throws(() => createPrivateKey('nonsense')) as Error & {
    opensslErrorStack?: string[];
  };
  t.notRegex(`${error.opensslErrorStack?.join()}`, /derivation/);
});

nativeTest('datagrams that are not genuine leave no errors for later calls', (t, native) => {
  const errors = (): string[] => {
    const error = t.throws(() => createPrivateKey('nonsense')) as Error & {
      opensslErrorStack?: string[];
    };
    return [error.message, ...(error.opensslErrorStack ?? [])];
  };
  const before = errors();
  const { engine } = new NativeBench(native);
  const key = engine.installKey(counting(32), counting(32), 1)!;
  for (let i = 0; i < 20; i++) {
    place(engine.datagrams, 0, counting(32 + i), { mark: MARK_OPEN, key });
    engine.open(engine.datagrams);
    t.is(markOf(engine.datagrams, 0), MARK_OPEN_FAILED);
  }
  t.deepEqual(errors(), before);
});

nativeTest('a worker that ends while it waits in the addon frees all that it had', async (t) => {
  const folder = new URL('../../../dataplane/', import.meta.url).href;
  const work = `
    import { parentPort } from 'node:worker_threads';
    import { loadAddon, NativeEngine } from '${folder}native/index.ts';
    import { createEndpointTable } from '${folder}wire/address.ts';
    const { addon } = loadAddon();
    const [tun] = addon.openPair();
    const udp4 = addon.openUdp(false, 0);
    const options = { udp4, udp6: -1, wake: -1, tun, tunTakesUdp: true, mtu: 1420 };
    const engine = new NativeEngine(addon, addon, createEndpointTable(64), 64, options);
    engine.installKey(new Uint8Array(32), new Uint8Array(32), 1);
    // Each worker has memory of its own in the addon, for as long as its thread lives.
    engine.packets.descriptors.set([64, 40, 0, 0, ${MARK_TUN}]);
    engine.packets.count = 1;
    engine.writeTun(engine.packets);
    engine.receive();
    engine.send(new Uint8Array(40), 0);
    engine.flush();
    parentPort.postMessage('waits');
    for (;;) engine.poll(20);
  `;
  // In a process whose main thread has not loaded the addon: the last worker unloads it.
  const script = `
    import { Worker } from 'node:worker_threads';
    const url = new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(work)}`)});
    for (let i = 0; i < 6; i++) {
      const worker = new Worker(url);
      await new Promise((resolve) => worker.once('message', resolve));
      const ended = worker.terminate();
      if (i % 2 === 0) await ended;
    }
    process.stdout.write('all ended');
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script],
    { timeout: 60_000 },
  );
  t.is(stdout, 'all ended');
});

// The cipher of transport data, made of OpenSSL's ChaCha20 and Poly1305, against ChaCha20-Poly1305 as
// Node offers it: every length around the blocks of both, and what is not authentic.

import { createCipheriv } from 'node:crypto';
import { TAG_BYTES } from '../../../dataplane/constants.ts';
import {
  MARK_OPEN,
  MARK_OPEN_FAILED,
  MARK_OPENED,
  MARK_SEAL,
  MARK_SEALED,
} from '../../../dataplane/contract.ts';
import { contentOf, markOf, place } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting, viewOf } from '../../support/dataplane/packets.ts';
import { KEY, withBench } from '../../support/dataplane/sealing.ts';

const TRANSPORT_HEADER_BYTES = 16;
/** Lengths around blocks of 64 bytes, and around the calls of 512 and 1,024 that OpenSSL likes. */
const LENGTHS = [
  ...Array.from({ length: 400 }, (_, i) => i),
  ...[512, 960, 1_024, 1_420, 1_472, 1_984, 2_048, 9_000, 65_000, 65_440].flatMap((length) =>
    Array.from({ length: 17 }, (_, i) => length - 8 + i),
  ),
].filter((length) => length <= 65_440);

/** The message of the paper, 5.4.6, by Node. */
function sealed(counter: bigint, plaintext: Uint8Array): Uint8Array {
  const header = new Uint8Array(TRANSPORT_HEADER_BYTES);
  header[0] = 4;
  viewOf(header).setUint32(4, 77, true);
  viewOf(header).setBigUint64(8, counter, true);
  const nonce = new Uint8Array(12);
  viewOf(nonce).setBigUint64(4, counter, true);
  const cipher = createCipheriv('chacha20-poly1305', KEY, nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([header, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

nativeTest('what it seals is what Node seals, at every length', (t, native) => {
  // The largest MTU: every text is padded to 16 bytes.
  withBench(native, { mtu: 65_440 }, (bench, key) => {
    // What is no packet is not sealed; an empty text is a keepalive.
    const lengths = LENGTHS.filter((length) => length === 0 || length >= 20);
    for (const [counter, length] of lengths.entries()) {
      const packet = counting(length, counter);
      const padded = new Uint8Array(Math.min(Math.ceil(length / 16) * 16, 65_440));
      padded.set(packet);
      bench.engine.packets.count = 0;
      place(bench.engine.packets, 0, packet, { mark: MARK_SEAL, key });
      bench.engine.seal(bench.engine.packets);
      if (markOf(bench.engine.packets, 0) !== MARK_SEALED) t.fail(`${length} bytes: not sealed`);
      const [datagram] = bench.datagrams();
      const wanted = sealed(BigInt(counter), padded);
      if (Buffer.compare(datagram!, wanted) !== 0) t.fail(`${length} bytes: another message`);
    }
    t.pass();
  });
});

nativeTest('it opens what Node seals, at every length and with large counters', (t, native) => {
  withBench(native, {}, ({ engine }, key) => {
    for (const [i, length] of LENGTHS.entries()) {
      const counter = (BigInt(i) << 44n) + BigInt(length);
      const plaintext = counting(length, i);
      engine.datagrams.count = 0;
      place(engine.datagrams, 0, sealed(counter, plaintext), { mark: MARK_OPEN, key });
      engine.open(engine.datagrams);
      if (markOf(engine.datagrams, 0) !== MARK_OPENED) t.fail(`${length} bytes: not opened`);
      if (Buffer.compare(contentOf(engine.datagrams, 0), plaintext) !== 0)
        t.fail(`${length} bytes: another text`);
    }
    t.pass();
  });
});

nativeTest('a message with any bit changed is refused, and left as it is', (t, native) => {
  withBench(native, {}, ({ engine }, key) => {
    for (const length of [0, 1, 15, 16, 17, 63, 64, 65, 200]) {
      const message = sealed(9n, counting(length));
      for (let at = 8; at < message.length; at++) {
        const changed = message.slice();
        changed[at]! ^= 1 << (at & 7);
        engine.datagrams.count = 0;
        place(engine.datagrams, 0, changed, { mark: MARK_OPEN, key });
        engine.open(engine.datagrams);
        if (markOf(engine.datagrams, 0) !== MARK_OPEN_FAILED)
          t.fail(`${length} bytes, byte ${at}: opened`);
        if (Buffer.compare(contentOf(engine.datagrams, 0), changed) !== 0)
          t.fail(`${length} bytes, byte ${at}: changed`);
      }
    }
    t.pass();
  });
});

nativeTest('a text of one key and one counter is not opened with those of another', (t, native) => {
  withBench(native, {}, ({ engine }, key) => {
    const other = engine.installKey(counting(32, 90), counting(32, 91), 78)!;
    const message = sealed(3n, counting(100));
    for (const [turn, wanted] of [
      [other, MARK_OPEN_FAILED],
      [key, MARK_OPENED],
      [other, MARK_OPEN_FAILED],
      [key, MARK_OPENED],
    ] as const) {
      engine.datagrams.count = 0;
      place(engine.datagrams, 0, message, { mark: MARK_OPEN, key: turn });
      engine.open(engine.datagrams);
      t.is(markOf(engine.datagrams, 0), wanted);
    }
  });
});

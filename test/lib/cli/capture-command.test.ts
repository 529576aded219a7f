// `postern capture`: what is asked of the gateway, what is written where, and how it ends.

import { PassThrough } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { CaptureWriter, TO_DEVICE } from '../../../dataplane/rings/capture-ring.ts';
import { RunningCaptures } from '../../../dataplane/gateway/captures.ts';
import type { CaptureOrder } from '../../../dataplane/index.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { LocalGateway } from '../../../lib/cli/ask-gateway.ts';
import { captureDevice, type CaptureEnds } from '../../../lib/cli/capture-command.ts';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { readAuditEntries } from '../../../models/index.ts';
import { openLocally, type LocalServer } from '../../support/api/local-socket.ts';
import { untilHolds } from '../../support/api/running-capture.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { readPcapng } from '../../support/network/pcapng.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

interface Scene extends LocalServer {
  readonly orders: CaptureOrder[];
  readonly running: RunningCaptures;
  readonly capture: (...words: string[]) => Promise<{
    done: Promise<Outcome>;
    out: PassThrough;
    written: () => Buffer;
    notes: () => string;
    interrupt: () => void;
  }>;
}

async function open(t: ExecutionContext, isTTY = false, name = 'laptop'): Promise<Scene> {
  const running = new RunningCaptures();
  const orders: CaptureOrder[] = [];
  const capturing = {
    id: GATEWAY,
    capture: async (order: CaptureOrder) => {
      const begun = running.begin(order, 1);
      if (begun === null) return null;
      orders.push(order);
      const facts = { by: 'default', rule: null, flow: 'opens', segmentBytes: 0 } as const;
      const more = { place: TO_DEVICE, isOutbound: true, reason: reasons.none, wallMs: 1 };
      const writer = new CaptureWriter(begun.rings[0]!);
      for (let i = 0; i < 3; i++)
        writer.write({ ...facts, ...more, length: 64 }, counting(64), 0, 64);
      return begun.capture;
    },
  };
  const opened = await openLocally(t, { capturing });
  const user = await addUser(opened.database);
  await addDevice(opened.database, user.id, { name, ipv4: '100.64.9.9' });
  const capture: Scene['capture'] = async (...words) => {
    const parsed = await parseCommandLine(['capture', ...words]);
    if (!('command' in parsed)) throw new Error('not understood');
    const [out, notes] = [new PassThrough(), new PassThrough()];
    const [written, said]: [Buffer[], Buffer[]] = [[], []];
    out.on('data', (chunk: Buffer) => written.push(chunk));
    notes.on('data', (chunk: Buffer) => said.push(chunk));
    let interrupt = (): void => undefined;
    const ends: CaptureEnds = {
      out: Object.assign(out, { isTTY }),
      notes,
      onInterrupt: (end) => (interrupt = end),
    };
    return {
      done: captureDevice(new LocalGateway(opened.config), parsed.command, ends),
      out,
      written: () => Buffer.concat(written),
      notes: () => Buffer.concat(said).toString(),
      interrupt: () => interrupt(),
    };
  };
  return { ...opened, orders, running, capture };
}

test('packets go to standard output until the time is over, and notes beside them', async (t) => {
  const { capture, orders, running, database } = await open(t);
  const { done, written, notes } = await capture(
    ...'100.64.9.9 --duration 1 --payload --port 53 --protocol udp --only-refused'.split(' '),
    ...'--destination 10.0.0.0/8 --bytes 5000'.split(' '),
  );
  const { data, isWritten } = await done;
  t.true(isWritten);
  t.like(data, { packets: 3, lost: 0, bytes: written().length });
  const { packets, counts } = readPcapng(written());
  t.is(packets.length, 3);
  t.is(counts.at(-1)!.comment, 'It ended: its time was over.');
  t.like(orders[0], { snaplen: 65_535, port: 53, protocol: 'udp', onlyRefused: true });
  t.deepEqual(orders[0]!.destination, { address: Uint8Array.of(10, 0, 0, 0), prefixBits: 8 });
  t.regex(notes(), /^capturing packets of laptop\nlaptop: 1 s, 3 packets, \d+ bytes\n$/);
  t.is([...running.all].length, 0);
  const entries = async (): ReturnType<typeof readAuditEntries> =>
    readAuditEntries(database, { limit: 10, who: 'command line' });
  await untilHolds(async () => (await entries()).length === 2);
  t.deepEqual(
    (await entries()).map(({ action, email, address }) => [action, email, address]),
    [
      ['begin capture', null, null],
      ['end capture', null, null],
    ],
  );
});

test('nothing in the name of a device steers the terminal of whoever captures', async (t) => {
  const { capture } = await open(t, false, 'pwn\u001b]0;owned\u0007');
  const { done, notes, interrupt } = await capture('100.64.9.9');
  await untilHolds(() => notes() !== '');
  interrupt();
  await done;
  t.regex(notes(), /^capturing packets of pwn \]0;owned \npwn \]0;owned : \d s, /);
});

test('a person ends it cleanly: the file has whole blocks', async (t) => {
  const { capture, running } = await open(t);
  const { done, written, interrupt } = await capture('laptop');
  await untilHolds(() => readPcapng(written()).packets.length === 3);
  interrupt();
  t.like((await done).data, { packets: 3 });
  t.is(readPcapng(written()).packets.length, 3);
  await untilHolds(() => [...running.all].length === 0);
});

test('whoever reads it may go away', async (t) => {
  const { capture, running } = await open(t);
  const { done, out, written } = await capture('laptop');
  await untilHolds(() => readPcapng(written()).packets.length === 3);
  out.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await untilHolds(() => out.closed);
  t.like((await done).data, { packets: 3 });
  await untilHolds(() => [...running.all].length === 0);
});

test('a disk that is full ends it with an error', async (t) => {
  const { capture, running } = await open(t);
  const { done, out, written } = await capture('laptop');
  await untilHolds(() => readPcapng(written()).packets.length === 3);
  out.destroy(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }));
  await t.throwsAsync(done, {
    message:
      'the packets cannot be written, so the file is cut off: ENOSPC: no space left on device',
  });
  await untilHolds(() => [...running.all].length === 0);
});

test('a terminal gets no packets', async (t) => {
  const { capture, orders } = await open(t, true);
  await t.throwsAsync((await capture('laptop')).done, {
    message: /^packets are not for a terminal; .*capture laptop > file\.pcapng$/,
  });
  t.is(orders.length, 0);
});

test('what the gateway refuses is said in words', async (t) => {
  const { capture, running } = await open(t);
  const table: [words: string[], error: RegExp][] = [
    [['phone'], /^there is no device phone/],
    [['laptop', '--port', 'x'], /^port: is invalid; give --port 1 to 65535/],
    [['laptop', '--duration', '3601'], /^duration: must be less than or equal to 3600$/],
    [['laptop', '--payload', '--snaplen', '64'], /^snaplen: must not be present$/],
  ];
  for (const [words, error] of table)
    t.regex(String((await t.throwsAsync((await capture(...words)).done))?.message), error);
  running.begin({} as CaptureOrder, 1);
  running.begin({} as CaptureOrder, 1);
  await t.throwsAsync((await capture('laptop')).done, {
    message: /two captures run at this gateway already/,
  });
});

test('a gateway that breaks it off is named', async (t) => {
  const { capture, written, close } = await open(t).then(async (scene) => {
    const begun = await scene.capture('laptop');
    return { capture: begun.done, written: begun.written, close: scene.close };
  });
  const failed = t.throwsAsync(capture, { message: 'the gateway broke the capture off' });
  await untilHolds(() => readPcapng(written()).packets.length === 3);
  await close();
  await failed;
});

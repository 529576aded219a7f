// The TCP of hosts in memory, end to end and segment by segment.

import test from 'ava';
import { Connection, readSegment, resetOf, type Segment } from '../../../dataplane/memory/tcp.ts';
import { flagsOf, tcp } from '../../support/dataplane/packets.ts';

interface Pair {
  client: Connection;
  server: Connection;
  /** Every segment that was sent, by its flags. */
  sent: string[];
  /** Loses the segments that it returns true for. */
  loses: (segment: Segment, byClient: boolean) => boolean;
  forgotten: string[];
}

/** Two ends joined by a wire that may lose segments. Asking tries once; a test can try again. */
function pair(answer: ((data: Buffer) => string | null) | null = String): Pair {
  const queue: (() => void)[] = [];
  const scene: Pair = { sent: [], forgotten: [], loses: () => false } as unknown as Pair;
  const emitter = (byClient: boolean) => (segment: Segment) => {
    scene.sent.push(`${byClient ? '>' : '<'}${lettersOf(segment)}`);
    if (scene.loses(segment, byClient)) return;
    queue.push(() => (byClient ? scene.server : scene.client).receive(segment));
  };
  const ask = async (what: string, send: () => void, isDone: () => boolean): Promise<void> => {
    send();
    for (let step = queue.shift(); step !== undefined; step = queue.shift()) step();
    if (!isDone()) throw new Error(`no answer to ${what}`);
  };
  const carrier = (name: string, byClient: boolean) => ({
    peer: `10.9.9.9 port 80`,
    emit: emitter(byClient),
    ask,
    answer: byClient ? null : answer,
    forget: () => void scene.forgotten.push(name),
  });
  scene.client = new Connection(carrier('client', true));
  scene.server = new Connection(carrier('server', false));
  return scene;
}

function lettersOf({ flags, data }: Segment): string {
  const letters = ['F', 'S', 'R', 'A'].filter((letter) => (flags & flagsOf(letter)) !== 0).join('');
  return data.length === 0 ? letters : `${letters}${data.length}`;
}

test('a connection has a handshake, data with an answer, and an end', async (t) => {
  const scene = pair((data) => `${String(data)}!`);
  const { client, sent, forgotten } = scene;
  await client.open();
  t.true(client.isOpen);
  t.is(String(await client.exchange('hello')), 'hello!');
  t.is(String(client.take()), '');
  await client.close();
  t.false(client.isOpen);
  t.deepEqual(sent, ['>S', '<SA', '>A', '>A5', '<A6', '>A', '>FA', '<FA', '>A']);
  t.deepEqual(forgotten, ['client', 'server']);
  await t.throwsAsync(client.send('x'), {
    message: 'the connection to 10.9.9.9 port 80 is closed',
  });
});

test('data without an answer is acknowledged', async (t) => {
  const { client } = pair(() => null);
  await client.open();
  t.is(String(await client.exchange('hello')), '');
});

test('data that does not fit one segment goes in several, in order', async (t) => {
  const { client, sent } = pair();
  await client.open();
  const text = Array.from({ length: 1_000 }, (_, i) => `${i} `).join('');
  t.is(String(await client.exchange(text)), text);
  t.deepEqual(
    sent.filter((one) => /^>A\d/.test(one)),
    ['>A1200', '>A1200', '>A1200', '>A290'],
  );
});

test('lost segments are sent again when a side tries again', async (t) => {
  const scene = pair();
  const { client } = scene;
  scene.loses = (segment, byClient) => byClient && segment.flags === flagsOf('S');
  await t.throwsAsync(client.open(), { message: /no answer to a request for 10\.9\.9\.9 port 80/ });
  scene.loses = () => false;
  const again = pair();
  await again.client.open();
  again.loses = (segment, byClient) => byClient && segment.data.length > 0;
  await t.throwsAsync(again.client.send('one '));
  again.loses = (segment, byClient) => !byClient && segment.data.length > 0;
  await t.throwsAsync(again.client.exchange('two '));
  again.loses = () => false;
  t.is(
    String(await again.client.exchange('three')),
    'one two three',
    'also answers that were lost',
  );
  again.loses = (segment, byClient) => byClient && (segment.flags & flagsOf('F')) !== 0;
  await t.throwsAsync(again.client.close());
  again.loses = () => false;
  await again.client.close();
});

test('a reset ends a connection', async (t) => {
  const { client, server, forgotten } = pair();
  await client.open();
  client.receive({ sequence: 0, acknowledgement: 0, flags: flagsOf('R'), data: Buffer.alloc(0) });
  await t.throwsAsync(client.send('x'), { message: /port 80 is reset/ });
  t.deepEqual(forgotten, ['client']);
  t.true(server.isOpen);
});

test('a segment is read as it was written, without its options', (t) => {
  const packet = tcp({
    source: '10.0.0.2',
    destination: '10.0.0.3',
    sequence: 2 ** 32 - 1,
    acknowledgement: 9,
    flags: flagsOf('PA'),
    data: 'data',
    options: new Uint8Array(8),
  });
  t.deepEqual(readSegment(packet, 20), {
    sequence: 2 ** 32 - 1,
    acknowledgement: 9,
    flags: flagsOf('PA'),
    data: new Uint8Array(Buffer.from('data')),
  });
});

test('a reset acknowledges the segment that it answers (RFC 9293, 3.10.7.1)', (t) => {
  const data = new Uint8Array(3);
  const segment = { sequence: 10, acknowledgement: 20, flags: flagsOf('A'), data };
  t.like(resetOf(segment), { sequence: 20, acknowledgement: 13, flags: flagsOf('RA') });
  t.like(resetOf({ ...segment, flags: flagsOf('S') }), { sequence: 0, acknowledgement: 14 });
});

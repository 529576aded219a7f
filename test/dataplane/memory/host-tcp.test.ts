// The TCP of hosts in memory, end to end and segment by segment.

import test from 'ava';
import { type Connection, HostTcp } from '../../../dataplane/memory/host-tcp.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';
import { flagsOf, viewOf } from '../../support/dataplane/packets.ts';

const CLIENT = '10.9.9.2';
const SERVER = '10.9.9.9';

interface Said {
  readonly flags: number;
  readonly bytes: number;
}

/** Two hosts joined by a wire that may lose segments. Asking tries so often. */
class Pair {
  /** Every segment that was sent: by whom, its flags, how much data. */
  readonly sent: string[] = [];
  tries = 1;
  loses: (segment: Said, byClient: boolean) => boolean = () => false;
  breaks: (segment: Said, byClient: boolean) => boolean = () => false;
  readonly #queue: (() => void)[] = [];
  readonly #client = this.#host(true, null);
  readonly #server: HostTcp;

  constructor(answer: ((data: Buffer) => string | null) | null = String) {
    this.#server = this.#host(false, answer);
  }

  connect(port = 80): Promise<Connection> {
    return this.#client.connect(CLIENT, { address: SERVER, port, at: 50_000 });
  }

  #host(isClient: boolean, answer: ((data: Buffer) => string | null) | null): HostTcp {
    return new HostTcp({
      now: () => 1_000,
      random: seededRandom(isClient ? 1 : 2),
      send: (packet) => this.#carry(packet, isClient),
      answerer: ({ at }) => (at === 80 ? answer : null),
      ask: async (what, _to, send, isDone) => {
        for (let i = 0; i < this.tries && !isDone(); i++) {
          send();
          for (let step = this.#queue.shift(); step !== undefined; step = this.#queue.shift())
            step();
        }
        if (!isDone()) throw new Error(`no answer to ${what}`);
      },
    });
  }

  #carry(packet: Uint8Array, byClient: boolean): void {
    const inner = new InnerPacket();
    parseInner(viewOf(packet), 0, packet.length, inner);
    const bytes = packet.length - 20 - (packet[32]! >> 4) * 4;
    const { flags } = inner;
    const letters = ['F', 'S', 'R', 'A'].filter((one) => (flags & flagsOf(one)) !== 0).join('');
    this.sent.push(`${byClient ? '>' : '<'}${letters}${bytes === 0 ? '' : bytes}`);
    if (this.loses({ flags, bytes }, byClient)) return;
    if (this.breaks({ flags, bytes }, byClient)) packet[packet.length - 1]! ^= 1;
    this.#queue.push(() => (byClient ? this.#server : this.#client).receive(packet, inner));
  }
}

test('a connection has a handshake, data with an answer, and an end', async (t) => {
  const pair = new Pair((data) => `${String(data)}!`);
  const connection = await pair.connect();
  t.true(connection.isOpen);
  t.is(String(await connection.exchange('hello')), 'hello!');
  t.is(String(connection.take()), '');
  await connection.close();
  t.false(connection.isOpen);
  t.deepEqual(pair.sent, ['>S', '<SA', '>A', '>A5', '<A6', '>A', '>FA', '<FA', '>A']);
  await t.throwsAsync(connection.send('x'), {
    message: 'the connection to 10.9.9.9 port 80 is closed',
  });
});

test('data without an answer is acknowledged at once, however much came before', async (t) => {
  const connection = await new Pair(() => null).connect();
  for (let i = 0; i < 50; i++) t.is(String(await connection.exchange('hello')), '');
});

test('data that does not fit one segment goes in several, in order', async (t) => {
  const pair = new Pair();
  const connection = await pair.connect();
  const text = Array.from({ length: 1_000 }, (_, i) => `${i} `).join('');
  t.is(String(await connection.exchange(text)), text);
  t.deepEqual(
    pair.sent.filter((one) => /^>A\d/.test(one)),
    ['>A1228', '>A1228', '>A1228', '>A206'],
  );
});

test('a megabyte each way arrives whole', async (t) => {
  const connection = await new Pair().connect();
  const text = Array.from({ length: 170_000 }, (_, i) => `${i} `).join('');
  t.true(text.length > 1_000_000);
  t.is(String(await connection.exchange(text)), text);
  await connection.close();
});

test('lost segments are sent again when a side tries again', async (t) => {
  const pair = new Pair();
  pair.loses = ({ flags }, byClient) => byClient && flags === flagsOf('S');
  await t.throwsAsync(pair.connect(), {
    message: /no answer to a request for 10\.9\.9\.9 port 80/,
  });
  let lost = 0;
  // Each is lost once.
  const loses = (is: (said: Said, byClient: boolean) => boolean): void => {
    lost = 0;
    pair.loses = (said, byClient) => is(said, byClient) && lost++ === 0;
  };
  pair.tries = 3;
  loses(({ flags }, byClient) => byClient && flags === flagsOf('S'));
  const connection = await pair.connect();
  t.is(lost, 2);
  loses(({ bytes }, byClient) => byClient && bytes > 0);
  t.is(String(await connection.exchange('one')), 'one');
  loses(({ flags }, byClient) => !byClient && (flags & flagsOf('A')) !== 0);
  await connection.send('two');
  t.is(String(connection.take()), 'two', 'also answers that were lost');
  loses(({ flags }, byClient) => byClient && (flags & flagsOf('F')) !== 0);
  await connection.close();
  t.true(lost > 1);
});

test('a port that nobody has is refused, and another connection is not', async (t) => {
  const pair = new Pair();
  await t.throwsAsync(pair.connect(81), {
    message: /10\.9\.9\.9 port 81 .*no such port/,
    code: 'ECONNREFUSED',
  });
  t.deepEqual(pair.sent, ['>S', '<RA']);
  t.is(String(await (await pair.connect()).exchange('x')), 'x');
});

test('a connection that was given up is reset where the other side still has it', async (t) => {
  const pair = new Pair();
  pair.loses = ({ flags }, byClient) => !byClient && flags === (flagsOf('S') | flagsOf('A'));
  await t.throwsAsync(pair.connect());
  pair.loses = () => false;
  const again = await pair.connect();
  t.is(String(await again.exchange('x')), 'x');
});

test('segments whose checksum is wrong are nobody’s', async (t) => {
  const pair = new Pair();
  const connection = await pair.connect();
  pair.breaks = ({ bytes }, byClient) => byClient && bytes > 0;
  await t.throwsAsync(connection.send('x'), { message: /no answer to data/ });
  t.deepEqual(pair.sent.slice(3), ['>A1']);
});

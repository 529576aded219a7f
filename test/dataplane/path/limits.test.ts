// Limits: the bucket itself beside a slow twin that remembers everything, and the packets of devices
// with limits in virtual time. docs/packets.md#limits.

import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { LIMIT_BURST_MS, MAX_PEERS } from '../../../dataplane/constants.ts';
import type { PeerConfig } from '../../../dataplane/contract.ts';
import { DOWN, Limits, UP } from '../../../dataplane/path/limits.ts';
import { counting, echoRequest, udp } from '../../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClients,
  type Node,
  SEEDED,
  type World,
} from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';

const KBIT = 1_000;
const MBIT = 1_000_000;
const TRAIN = 65_535;

// ---- the bucket ------------------------------------------------------------------------------

/** A bucket that works out its level millisecond by millisecond, in whole numbers. */
class SlowBucket {
  #rate = 0n;
  #level = 0n;

  pass(ms: number): void {
    for (let i = 0; i < ms; i++) this.#fill(this.#level + this.#rate);
  }

  setRate(rate: number): void {
    const wasLimited = this.#rate > 0n;
    this.#rate = BigInt(rate);
    this.#fill(wasLimited ? this.#level : this.#rate * BigInt(LIMIT_BURST_MS));
  }

  get isReached(): boolean {
    return this.#rate > 0n && this.#level <= 0n;
  }

  /** Whole bytes that the last packet may begin after. */
  get left(): number {
    if (this.#rate === 0n) return Number.POSITIVE_INFINITY;
    return this.#level <= 0n ? 0 : Number((this.#level + 7_999n) / 8_000n);
  }

  take(bytes: number): void {
    if (this.#rate > 0n) this.#level -= BigInt(bytes) * 8_000n;
  }

  #fill(level: bigint): void {
    const most = this.#rate * BigInt(LIMIT_BURST_MS);
    this.#level = level < most ? level : most;
  }
}

type Op = { ms: number } | { take: number; of: number } | { rate: number; of: number };

const of = fc.integer({ min: 0, max: 3 });
const anyOp: fc.Arbitrary<Op> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ms: fc.integer({ min: 0, max: 120 }) }) },
  { weight: 6, arbitrary: fc.record({ take: fc.integer({ min: 20, max: TRAIN }), of }) },
  {
    weight: 1,
    arbitrary: fc.record({ rate: fc.constantFrom(0, 64 * KBIT, MBIT, 100 * MBIT, 1e11), of }),
  },
);

test('whatever comes, a bucket says what its slow twin says', (t) => {
  let [reached, passed] = [0, 0];
  fc.assert(
    fc.property(fc.array(anyOp, { minLength: 20, maxLength: 120 }), (ops) => {
      const limits = new Limits();
      const twins = Array.from({ length: 4 }, () => new SlowBucket());
      const rates = [0, 0, 0, 0];
      let now = 1_000;
      limits.begin(now);
      // Two peers: the first, and the one in the last place.
      const slotOf = (n: number): number => (n < 2 ? 0 : MAX_PEERS - 1);
      for (const op of ops) {
        if ('ms' in op) {
          now += op.ms;
          limits.begin(now);
          for (const twin of twins) twin.pass(op.ms);
        } else if ('rate' in op) {
          rates[op.of] = op.rate;
          const first = op.of & 2;
          limits.set(slotOf(op.of), rates[first]! || null, rates[first + 1]!);
          twins[op.of]!.setRate(op.rate);
        } else if (!limits.isReached(slotOf(op.of), op.of & 1)) {
          limits.take(slotOf(op.of), op.of & 1, op.take);
          twins[op.of]!.take(op.take);
          passed++;
        }
        for (const [n, twin] of twins.entries()) {
          const isReached = limits.isReached(slotOf(n), n & 1);
          if (isReached !== twin.isReached) return false;
          if (limits.left(slotOf(n), n & 1) !== twin.left) return false;
          if (isReached) reached++;
        }
      }
      return true;
    }),
    SEEDED,
  );
  t.true(reached > 500 && passed > 1_000, `${reached} and ${passed}`);
});

test('over a long time exactly the limit passes, whatever the size of the packets', (t) => {
  for (const rate of [64 * KBIT, MBIT, 100 * MBIT])
    for (const size of [60, 1_420, TRAIN]) {
      const limits = new Limits();
      limits.begin(0);
      limits.set(7, rate, null);
      let bytes = 0;
      const seconds = 60;
      for (let now = 0; now < seconds * 1_000; now += 0.25) {
        limits.begin(now);
        while (!limits.isReached(7, DOWN)) {
          limits.take(7, DOWN, size);
          bytes += size;
        }
      }
      const all = (rate * seconds) / 8;
      const most = all + (rate * LIMIT_BURST_MS) / 8_000 + size;
      t.true(bytes >= all - size && bytes <= most, `${rate}, ${size}: ${bytes}, ${all} to ${most}`);
    }
});

test('a pause fills a bucket, and no further than its burst', (t) => {
  const limits = new Limits();
  limits.begin(0);
  limits.set(0, MBIT, null);
  limits.begin(1e9);
  // 500 ms of 1 Mbit/s are 62,500 bytes.
  for (let i = 0; i < 5; i++) {
    t.false(limits.isReached(0, DOWN), `${i}`);
    limits.take(0, DOWN, 12_500);
  }
  t.true(limits.isReached(0, DOWN));
});

test('a train passes while the bucket is not empty, and the debt is paid before the next one', (t) => {
  const limits = new Limits();
  limits.begin(0);
  limits.set(0, null, MBIT);
  limits.take(0, UP, 62_499);
  t.false(limits.isReached(0, UP));
  limits.take(0, UP, TRAIN);
  // One byte was left, so 65,534 bytes at 125 bytes a millisecond are owed.
  limits.begin(524.271);
  t.true(limits.isReached(0, UP));
  limits.begin(524.273);
  t.false(limits.isReached(0, UP));
});

test('another limit keeps the debt, and no limit ends it', (t) => {
  const limits = new Limits();
  limits.begin(0);
  limits.set(0, 64 * KBIT, null);
  limits.take(0, DOWN, TRAIN);
  limits.set(0, 100 * MBIT, null);
  t.true(limits.isReached(0, DOWN));
  limits.begin(6);
  t.false(limits.isReached(0, DOWN), '100 Mbit/s pay it in 5 ms');
  limits.take(0, DOWN, TRAIN);
  limits.set(0, null, null);
  t.false(limits.isReached(0, DOWN));
  t.false(limits.has(0, DOWN));
  limits.set(0, 64 * KBIT, null);
  t.false(limits.isReached(0, DOWN));
});

// ---- the packets of devices ------------------------------------------------------------------

const HOST = '192.0.2.9';
const SIZE = 1_000;
const BYTES = SIZE + 28;
/** 0.5 s of 1 Mbit/s, and the burst; a packet more, because the last one is in debt. */
const MOST = 1 + Math.floor((125 * (500 + LIMIT_BURST_MS)) / BYTES);
/** How many packets 64 kbit/s let pass at once. */
const AT_ONCE = 1 + Math.floor((8 * LIMIT_BURST_MS) / BYTES);

interface Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly clients: readonly Client[];
  limit(...limits: readonly Pick<PeerConfig, 'limitDown' | 'limitUp'>[]): void;
}

function scene(workers: number): Scene {
  const { world, gateway, clients, peers } = gatewayAndClients(2, 5, { gateway: { workers } });
  for (const client of clients) client.connect();
  world.run(100);
  const limit: Scene['limit'] = (...limits) =>
    gateway.apply(peers.map((peer, i) => ({ ...peer, ...limits[i] })));
  return { world, gateway, clients, limit };
}

function packet(source: string, destination: string): Uint8Array {
  return udp({ source, destination, data: counting(SIZE) });
}

/** Sends for 0.5 s, four packets in each 2 ms: 16 Mbit/s. */
function flood({ world }: Scene, send: () => void): number {
  for (let ms = 0; ms < 500; ms += 2) {
    for (let i = 0; i < 4; i++) send();
    world.run(2);
  }
  world.run(100);
  return 1_000;
}

function isLimited(t: ExecutionContext, { gateway }: Scene, arrived: number, sent: number): void {
  t.true(arrived >= MOST - 2 && arrived <= MOST, `${arrived} of ${MOST}`);
  t.deepEqual(gateway.drops(), { rate_limit: sent - arrived });
}

for (const workers of [1, 3]) {
  test(`${workers} workers: what a device sends is limited, and not what another sends`, (t) => {
    const made = scene(workers);
    made.limit({ limitUp: MBIT });
    const [limited, free] = made.clients as [Client, Client];
    const sent = flood(made, () => {
      limited.send(packet('10.0.0.2', HOST));
      free.send(packet('10.0.0.3', HOST));
    });
    const bySource = Map.groupBy(made.gateway.delivered, (bytes) => bytes[15]);
    t.is(bySource.get(3)?.length, sent);
    isLimited(t, made, bySource.get(2)?.length ?? 0, sent);
  });

  test(`${workers} workers: what is sent to a device is limited, and not what it sends`, (t) => {
    const made = scene(workers);
    made.limit({ limitDown: MBIT });
    const [limited, free] = made.clients as [Client, Client];
    const sent = flood(made, () => {
      made.gateway.send(packet(HOST, '10.0.0.2'));
      made.gateway.send(packet(HOST, '10.0.0.3'));
      limited.send(packet('10.0.0.2', HOST));
    });
    t.is(free.delivered.length, sent);
    t.is(made.gateway.delivered.length, sent);
    isLimited(t, made, limited.delivered.length, sent);
  });

  for (const [title, limits] of [
    ['of the sender', [{ limitUp: MBIT }, {}]],
    ['of the receiver', [{}, { limitDown: MBIT }]],
    ['of the receiver, which is less', [{ limitUp: 8 * MBIT }, { limitDown: MBIT }]],
  ] as const)
    test(`${workers} workers: between devices the limit ${title} counts`, (t) => {
      const made = scene(workers);
      made.limit(...limits);
      const [sender, receiver] = made.clients as [Client, Client];
      const sent = flood(made, () => sender.send(packet('10.0.0.2', '10.0.0.3')));
      isLimited(t, made, receiver.delivered.length, sent);
    });

  test(`${workers} workers: a change is in force at once, and so is its end`, (t) => {
    const made = scene(workers);
    made.limit({ limitUp: 64 * KBIT });
    const [device] = made.clients as [Client];
    const burst = (): number => {
      for (let i = 0; i < 10; i++) device.send(packet('10.0.0.2', HOST));
      made.world.run(20);
      return made.gateway.delivered.splice(0).length;
    };
    t.is(burst(), AT_ONCE);
    made.limit({});
    t.is(burst(), 10);
    made.limit({ limitUp: 64 * KBIT });
    t.is(burst(), AT_ONCE);
  });

  test(`${workers} workers: who asks about a packet learns of the limit and takes nothing`, async (t) => {
    const made = scene(workers);
    made.limit({ limitUp: 64 * KBIT }, { limitDown: 64 * KBIT });
    const [sender, receiver] = made.clients as [Client, Client];
    const asked = async (from: Client | null, bytes: Uint8Array): Promise<unknown> => {
      const explanation = await made.gateway.ask('explain', {
        from: from?.key ?? null,
        packet: bytes,
      });
      return [explanation?.reason, explanation?.place];
    };
    const questions = [
      [sender, packet('10.0.0.2', HOST), ['none', 'tun']],
      [sender, packet('10.0.0.2', '10.0.0.3'), ['none', 'device']],
      [null, packet(HOST, '10.0.0.3'), ['none', 'device']],
    ] as const;
    for (let i = 0; i < 10; i++)
      for (const [from, bytes, expected] of questions)
        t.deepEqual(await asked(from, bytes), expected);
    for (let i = 0; i < AT_ONCE; i++) {
      made.gateway.send(packet(HOST, '10.0.0.3'));
      sender.send(packet('10.0.0.2', HOST));
    }
    made.world.run(10);
    t.is(receiver.delivered.length, AT_ONCE);
    t.is(made.gateway.delivered.length, AT_ONCE);
    for (const [from, bytes] of questions)
      t.deepEqual(await asked(from, bytes), ['rate_limit', 'nowhere']);
    made.world.run(1_000);
    for (const [from, bytes, expected] of questions)
      t.deepEqual(await asked(from, bytes), expected);
  });
}

test('a ping that the gateway answers itself counts as well', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(1, 5, {
    gateway: { hasTun: false },
  });
  gateway.apply([{ ...peers[0]!, limitUp: 64 * KBIT }]);
  clients[0]!.connect();
  world.run(100);
  const sent = 400;
  for (let i = 0; i < sent; i++) clients[0]!.send(echoRequest('10.0.0.2', '10.0.0.1'));
  world.run(10);
  const answered = clients[0]!.delivered.length;
  t.true(answered > 0 && answered < sent, `${answered}`);
  t.deepEqual(gateway.drops(), { rate_limit: sent - answered });
});

test('what is over the limit opens no flow', async (t) => {
  const made = scene(1);
  made.limit({ limitUp: 64 * KBIT });
  const [device] = made.clients as [Client];
  const before = Array.from({ length: AT_ONCE }, () => 4_000);
  for (const port of [...before, 4_001, 4_002])
    device.send(
      udp({
        source: '10.0.0.2',
        destination: HOST,
        sourcePort: port,
        destinationPort: 53,
        data: counting(SIZE),
      }),
    );
  made.world.run(10);
  t.is(made.gateway.delivered.length, AT_ONCE);
  // An answer belongs to the flow that was opened; a refused one would be opened by the host.
  const opener = async (port: number): Promise<string | null | undefined> => {
    const ports = { sourcePort: 53, destinationPort: port };
    const answer = udp({ source: HOST, destination: '10.0.0.2', ...ports });
    const explanation = await made.gateway.ask('explain', { from: null, packet: answer });
    return explanation?.decision?.opener;
  };
  t.deepEqual(
    [await opener(4_000), await opener(4_001), await opener(4_002)],
    [device.key, null, null],
  );
});

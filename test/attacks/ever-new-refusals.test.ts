// A device scans: it sends thousands of packets a second that are refused, each with other ports and
// addresses. What is remembered of it is its share of one table; the entries of another device stay,
// the list answers all the while, and the process does not grow.

import test from 'ava';
import { MAX_REFUSALS, REFUSALS_SHARE } from '../../dataplane/constants.ts';
import type { ShownRefusal } from '../../lib/observe/live/fields.ts';
import { udp } from '../support/dataplane/packets.ts';
import { startFloodedGateway } from '../support/gateway/flooded-gateway.ts';
import { until } from '../support/gateway/postern.ts';
import type { RawDevice } from '../support/network/raw-device.ts';

const PACKETS = 40_000;
const SHARE = MAX_REFUSALS / REFUSALS_SHARE;
const GROWTH_MB_MAX = 30;
/** The machine is busy with the flood; an answer takes some milliseconds otherwise. */
const ANSWER_MS_MAX = 2_000;

test('a device that scans takes its share of the list, and nobody else loses a line', async (t) => {
  t.timeout(120_000);
  const { call, enrol, memoryMb } = await startFloodedGateway(t, 'drop');
  const [mallory, bob] = [await enrol('mallory'), await enrol('bob')];
  const refusalsOf = async ({ device }: RawDevice): Promise<readonly ShownRefusal[]> => {
    const begun = performance.now();
    const { status, body } = await call('GET', `/v0/refusals?limit=1000&device_id=${device.id}`);
    const tookMs = performance.now() - begun;
    t.is(status, 200);
    t.true(tookMs < ANSWER_MS_MAX, `${tookMs} ms`);
    return body.data as ShownRefusal[];
  };

  const honest = [1, 2, 3].map((port) =>
    udp({ source: bob.ipv4, destination: '10.0.0.5', destinationPort: port }),
  );
  await bob.send(...honest, honest[0]!);
  await until('they are listed', async () => (await refusalsOf(bob)).length === honest.length);
  const before = await refusalsOf(bob);
  t.deepEqual(before.map(({ port, count }) => `${port}: ${count}`).toSorted(), [
    '1: 2',
    '2: 1',
    '3: 1',
  ]);
  // The first answers make what every later one uses.
  await call('GET', '/v0/refusals?limit=1000');
  const memory = memoryMb();
  const begun = performance.now();
  for (let i = 0; i < PACKETS; i += 1_000) {
    const scan = Array.from({ length: 1_000 }, (_, at) =>
      udp({
        source: mallory.ipv4,
        destination: `10.1.${(i + at) >> 8}.${(i + at) & 255}`,
        sourcePort: 1 + (i + at),
        destinationPort: 1 + ((i + at) % 65_535),
      }),
    );
    await mallory.send(...scan);
    if (i % 10_000 === 0) t.true((await refusalsOf(mallory)).length <= SHARE);
  }
  const seconds = (performance.now() - begun) / 1_000;
  const growth = memoryMb() - memory;
  const metrics = (await call('GET', '/metrics')).text;
  const count = (name: string, reason: string): number =>
    Number(
      new RegExp(`^wg_gateway_${name}\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(metrics)?.[1],
    );
  const refused = count('dropped_packets_total', 'default_drop');
  t.log({ growth, perSecond: Math.round(PACKETS / seconds), refused });
  t.true(PACKETS / seconds > 1_000, 'a thousand a second');
  t.true(refused > PACKETS / 2, `${refused} were refused`);
  t.is((await refusalsOf(mallory)).length, SHARE);
  t.deepEqual(await refusalsOf(bob), before);
  const all = (await call('GET', '/v0/refusals?limit=1000')).body.data as ShownRefusal[];
  t.is(all.length, SHARE + before.length);
  const forgotten = count('refusal_records_forgotten_total', 'share');
  t.true(forgotten >= refused - SHARE - 1_000, `${forgotten} were forgotten`);
  t.true(growth < GROWTH_MB_MAX, `grew by ${growth} MB`);
});

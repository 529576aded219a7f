// A device opens thousands of flows a second, each with other ports and addresses. It has its share
// of the flows that are open and of those that have ended; the flows of another device stay in both
// lists, which answer all the while, and the process does not grow.

import test from 'ava';
import {
  ENDED_FLOWS_SHARE,
  FLOWS_PER_ENDED_FLOW,
  MAX_FLOWS,
  MAX_FLOWS_PER_PEER,
} from '../../dataplane/constants.ts';
import { udp } from '../support/dataplane/packets.ts';
import { startFloodedGateway } from '../support/gateway/flooded-gateway.ts';
import { until } from '../support/gateway/postern.ts';
import type { RawDevice } from '../support/network/raw-device.ts';

const FLOWS = 30_000;
const AT_ONCE = 1_000;
const ENDED_MAX = MAX_FLOWS / FLOWS_PER_ENDED_FLOW / ENDED_FLOWS_SHARE;
const GROWTH_MB_MAX = 30;
/** The machine is busy with the flood; an answer takes some milliseconds otherwise. */
const ANSWER_MS_MAX = 2_000;
const ENDING = '10.0.0.6';

type Flow = Record<'destination' | 'port' | 'opened_at', unknown>;

test('a device that opens ever new flows has its share of both lists, and no more', async (t) => {
  t.timeout(120_000);
  const { call, enrol, memoryMb } = await startFloodedGateway(t, 'accept');
  const [mallory, bob] = [await enrol('mallory'), await enrol('bob')];
  /** All pages of a list. */
  const list = async (path: string, { device }: RawDevice): Promise<Flow[]> => {
    const flows: Flow[] = [];
    let next: string | undefined = `/v0/${path}?limit=1000&device_id=${device.id}`;
    while (next !== undefined) {
      const begun = performance.now();
      const { status, body, headers } = await call('GET', next);
      const tookMs = performance.now() - begun;
      t.is(status, 200);
      t.true(tookMs < ANSWER_MS_MAX, `${path}: ${tookMs} ms`);
      flows.push(...(body.data as Flow[]));
      next = /(\/v0\/[^>]*)>; rel="next"/.exec(String(headers['link']))?.[1];
    }
    return flows;
  };

  const honest = [1, 2, 3].map((destinationPort) =>
    udp({ source: bob.ipv4, destination: '10.0.0.5', destinationPort }),
  );
  await bob.send(...honest, udp({ source: bob.ipv4, destination: ENDING, destinationPort: 4 }));
  await until('they are listed', async () => (await list('flows', bob)).length === 4);
  await call('POST', '/v0/rules', { rule: { action: 'drop', destination: ENDING } });
  await until('one has ended', async () => (await list('ended_flows', bob)).length === 1);
  const [opened, ended] = [await list('flows', bob), await list('ended_flows', bob)];
  t.deepEqual(new Set(opened.map(({ port }) => port)), new Set([1, 2, 3]));
  t.is(ended[0]?.destination, ENDING);

  const memory = memoryMb();
  const begun = performance.now();
  for (let i = 0; i < FLOWS; i += AT_ONCE) {
    const flows = Array.from({ length: AT_ONCE }, (_, at) =>
      udp({
        source: mallory.ipv4,
        destination: `10.1.${(i + at) >> 8}.${(i + at) & 255}`,
        sourcePort: 1 + i + at,
        destinationPort: 1 + i + at,
      }),
    );
    await mallory.send(...flows);
  }
  const perSecond = FLOWS / ((performance.now() - begun) / 1_000);
  const [malloryOpened, malloryEnded] = [
    await list('flows', mallory),
    await list('ended_flows', mallory),
  ];
  const growth = memoryMb() - memory;
  const metrics = (await call('GET', '/metrics')).text;
  const forgotten = Number(
    /^wg_gateway_ended_flows_forgotten_total\{reason="share"\} (\d+)$/m.exec(metrics)?.[1],
  );
  t.log({ growth, perSecond: Math.round(perSecond), forgotten });
  t.true(perSecond > 1_000, 'a thousand a second');
  t.is(malloryOpened.length, MAX_FLOWS_PER_PEER);
  t.is(malloryEnded.length, ENDED_MAX);
  // Some datagrams may be lost on the way.
  t.true(forgotten > FLOWS / 3 && forgotten <= FLOWS - MAX_FLOWS_PER_PEER - ENDED_MAX);
  t.deepEqual(await list('flows', bob), opened);
  t.deepEqual(await list('ended_flows', bob), ended);
  t.true(growth < GROWTH_MB_MAX, `grew by ${growth} MB`);
});

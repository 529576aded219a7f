// The whole text: complete, and made in slices, so that thousands of devices hold up nobody.

import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { Metrics, type MetricsSources } from '../../../../lib/observe/metrics/index.ts';
import { readExposition, valueOf } from '../../../support/observe/exposition.ts';
import { configOf } from '../../../support/api/server.ts';
import { fakeObserved, totals, fakeWatched } from '../../../support/observe/fake-gateway.ts';

const DEVICES = 10_000;

function metricsOf(t: ExecutionContext, fields: Partial<MetricsSources> = {}): Metrics {
  const metrics = new Metrics({
    config: configOf(),
    counters: new Counters(),
    readiness: () => ({ status: 'ready', tun: null, masquerade: false }),
    serverPublicKey: 'k',
    observed: fakeObserved(),
    watched: fakeWatched(),
    ...fields,
  });
  t.teardown(() => metrics.stop());
  return metrics;
}

async function textOf(metrics: Metrics): Promise<string> {
  let text = '';
  for await (const chunk of metrics.text()) text += chunk;
  return text;
}

test('every family is shown once, and counts of refusals by their reasons', async (t) => {
  const counters = new Counters();
  counters.add('requests_refused', 'too_many_of_token');
  counters.add('connections_refused', 'too_many');
  counters.add('sign_ins', 'refused');
  counters.add('refreshes', 'good');
  const metrics = metricsOf(t, { counters });
  metrics.requests.add({ method: 'get', route: '/x', status: 200, seconds: 1 });
  const families = readExposition(await textOf(metrics));
  for (const [name, labels] of [
    ['wg_gateway_requests_refused_total', { reason: 'too_many_of_token' }],
    ['wg_gateway_connections_refused_total', { reason: 'too_many' }],
    ['wg_gateway_sign_ins_total', { result: 'refused' }],
    ['wg_gateway_refreshes_total', { result: 'good' }],
    ['http_requests_total', { route: '/x' }],
    ['wg_gateway_connected_devices', {}],
  ] as const)
    t.is(valueOf(families, name, labels), 1, name);
  for (const [name, labels] of [
    ['wg_gateway_requests_refused_total', { reason: 'too_many_of_address' }],
    ['wg_gateway_connections_refused_total', { reason: 'too_many_from_address' }],
    ['wg_gateway_sign_ins_total', { result: 'too_many_codes' }],
    ['wg_gateway_refreshes_total', { result: 'internal' }],
  ] as const)
    t.is(valueOf(families, name, labels), 0, 'there before it happens');
  for (const { help } of families.values()) t.regex(help, /^[A-Z0-9].*\.$/, 'a sentence');
});

test('without a data plane the rest is shown', async (t) => {
  const metrics = new Metrics({
    config: configOf(),
    counters: new Counters(),
    readiness: () => ({ status: 'starting', tun: null, masquerade: false }),
    serverPublicKey: 'k',
  });
  t.teardown(() => metrics.stop());
  const families = readExposition(await textOf(metrics));
  t.is(valueOf(families, 'wg_gateway_ready'), 0);
  t.true(families.has('process_resident_memory_bytes'));
});

test('METRICS_PER_DEVICE=false leaves devices out, and counts them still', async (t) => {
  const watched = fakeWatched([totals('a')]);
  const config = configOf({ METRICS_PER_DEVICE: 'false' });
  const families = readExposition(await textOf(metricsOf(t, { config, watched })));
  t.false(families.has('wireguard_peer_info'));
  t.is(valueOf(families, 'wg_gateway_connected_devices'), 1);
  t.true(families.has('wireguard_device_info'));
});

test(`with ${DEVICES} devices others have their turn while the text is made`, async (t) => {
  const peers = Array.from({ length: DEVICES }, (_, i) =>
    totals(Buffer.from(`key ${i}`.padEnd(32)).toString('base64'), {
      rxBytes: i * 1e6,
      txBytes: i * 1e7,
      latestHandshakeMs: Date.now() - i,
      endpoint: { address: '192.0.2.200', port: 10_000 + i },
    }),
  );
  const metrics = metricsOf(t, { watched: fakeWatched(peers) });
  await textOf(metrics);
  const chunks: string[] = [];
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      await setImmediate();
      turns += 1;
    }
  })();
  for await (const chunk of metrics.text()) chunks.push(chunk);
  isDone = true;
  await others;
  const families = readExposition(chunks.join(''));
  t.is(families.get('wireguard_peer_info')?.samples.length, DEVICES);
  t.is(families.get('wireguard_sent_bytes_total')?.samples.length, DEVICES);
  t.true(
    chunks.length > 100 && turns >= chunks.length - 1,
    `${turns} turns, ${chunks.length} chunks`,
  );
  for (const chunk of chunks) t.true(chunk.length < 100_000);
});

test('devices that come and go while the text is sent are shown once, or not', async (t) => {
  const peers = new Map(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, totals(`k${i}`)]));
  const metrics = metricsOf(t, { watched: fakeWatched([], { peers: () => peers.values() }) });
  let text = '';
  for await (const chunk of metrics.text()) {
    text += chunk;
    // One goes, and comes back behind all others.
    const [[key, one] = ['', totals('')]] = peers;
    peers.delete(key);
    peers.set(key, one);
  }
  t.is(readExposition(text).get('wireguard_sent_bytes_total')?.samples.length, 2_000);
});

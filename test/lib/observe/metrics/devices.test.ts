// Metrics of devices: the names and labels of the exporters that people have dashboards for.

import test from 'ava';
import { deviceMetrics } from '../../../../lib/observe/metrics/devices.ts';
import { readExposition } from '../../../support/observe/exposition.ts';
import { totals, fakeWatched } from '../../../support/observe/fake-gateway.ts';

const NOW = 1_800_000_010_500;

const heard = totals('a', {
  rxBytes: 5,
  txBytes: 7,
  latestHandshakeMs: NOW - 10_000,
  endpoint: { address: '2001:db8::1', port: 4711 },
});
const silent = totals('b');

function shown(
  ...peers: Parameters<typeof fakeWatched>[0] & object
): ReturnType<typeof readExposition> {
  return readExposition([...deviceMetrics(fakeWatched(peers), 'wg-postern', NOW)].join(''));
}

const MDLAYHER = { device: 'wg-postern', public_key: 'a' };
const MINDFLAVOR = {
  interface: 'wg-postern',
  public_key: 'a',
  allowed_ips: '100.64.0.2/32,fd00::2/128',
  friendly_name: 'name of a',
};

// docs/bugs-of-others.md#bug-22: Unix time.
test('the family of mdlayher/wireguard_exporter', (t) => {
  const families = shown(heard);
  const samples = (name: string) => families.get(name)?.samples;
  t.deepEqual(samples('wireguard_peer_info'), [
    {
      name: 'wireguard_peer_info',
      labels: {
        ...MDLAYHER,
        endpoint: '[2001:db8::1]:4711',
        name: 'name of a',
        device_id: 'id of a',
        user_id: 'owner of a',
      },
      value: 1,
    },
  ]);
  t.deepEqual(
    samples('wireguard_peer_allowed_ips_info')?.map(({ labels, value }) => [labels, value]),
    [
      [{ ...MDLAYHER, allowed_ips: '100.64.0.2/32', family: 'IPv4' }, 1],
      [{ ...MDLAYHER, allowed_ips: 'fd00::2/128', family: 'IPv6' }, 1],
    ],
  );
  for (const [name, value] of [
    ['wireguard_peer_receive_bytes_total', 5],
    ['wireguard_peer_transmit_bytes_total', 7],
    ['wireguard_peer_last_handshake_seconds', 1_800_000_000],
  ] as const)
    t.deepEqual(samples(name), [{ name, labels: MDLAYHER, value }]);
});

test('the family of MindFlavor/prometheus_wireguard_exporter', (t) => {
  const families = shown(heard);
  for (const [name, value, type] of [
    ['wireguard_received_bytes_total', 5, 'counter'],
    ['wireguard_sent_bytes_total', 7, 'counter'],
    ['wireguard_latest_handshake_seconds', 1_800_000_000, 'gauge'],
    ['wireguard_latest_handshake_delay_seconds', 10, 'gauge'],
  ] as const) {
    t.deepEqual(families.get(name)?.samples, [{ name, labels: MINDFLAVOR, value }]);
    t.is(families.get(name)?.type, type);
  }
});

// docs/bugs-of-others.md#bug-22: Unix time.
test('a handshake that never was is absent, neither 0 nor now', (t) => {
  const families = shown(silent);
  for (const [name, { samples }] of families)
    t.is(samples.length, /handshake/.test(name) ? 0 : name.includes('allowed') ? 2 : 1, name);
  t.is(families.get('wireguard_peer_info')?.samples[0]?.labels['endpoint'], '');
});

test('a name may hold anything, and a device that is just going has none', (t) => {
  const name = 'Åsa\'s "phone" \\ 2\n';
  const show = (device: { id: string; userId: string; name: string } | null) =>
    readExposition(
      [...deviceMetrics(fakeWatched([heard], { deviceOf: () => device }), 'w', NOW)].join(''),
    ).get('wireguard_peer_info')?.samples[0]?.labels;
  t.is(show({ id: 'i', userId: 'u', name })?.['name'], name);
  t.like(show(null), { name: '', device_id: '', user_id: '' });
});

test('a clock that was set back makes no delay below zero', (t) => {
  const families = shown({ ...heard, latestHandshakeMs: NOW + 60_000 });
  t.is(families.get('wireguard_latest_handshake_delay_seconds')?.samples[0]?.value, 0);
});

test('no key but the public one, and no address but the tunnel and the endpoint', (t) => {
  const preshared = new Uint8Array(32).fill(7);
  const secret = { ...heard, config: { ...heard.config, presharedKey: preshared } };
  const text = [...deviceMetrics(fakeWatched([secret]), 'w', NOW)].join('');
  for (const form of ['base64', 'hex'] as const)
    t.false(text.includes(Buffer.from(preshared).toString(form)));
});

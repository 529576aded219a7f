// What a device is seen to do, in words.

import test from 'ava';
import { ONLINE_MS } from '../../../lib/observe/presence.ts';
import {
  deviceStatusView,
  type StandingView,
  standingView,
} from '../../../lib/web/device-status.ts';

const NOW = Date.parse('2026-11-21T08:00:00.000Z');
const SEEN = {
  latest_handshake: new Date(NOW - ONLINE_MS + 1),
  remote_ip: '192.0.2.7',
  remote_port: 4_000,
  rx_bytes: 1_500,
  tx_bytes: 2_500_000,
};

test('a device is online while its keys can serve', (t) => {
  t.is(deviceStatusView(SEEN, NOW).state, 'Online');
  t.is(deviceStatusView(SEEN, NOW).badge, 'good');
  const late = { ...SEEN, latest_handshake: new Date(NOW - ONLINE_MS) };
  t.is(deviceStatusView(late, NOW).state, 'Offline');
  t.is(deviceStatusView({ ...SEEN, latest_handshake: null }, NOW).state, 'Never seen');
});

test("down and up are the device's", (t) => {
  const { downloaded, uploaded, rxBytes, txBytes, handshake } = deviceStatusView(SEEN, NOW);
  t.deepEqual([downloaded, uploaded, rxBytes, txBytes], ['2.5 MB', '1.5 KB', 1_500, 2_500_000]);
  t.is(handshake, '2026-11-21T07:57:00.001000Z');
});

test('the address stands with its port, IPv6 in brackets', (t) => {
  t.is(deviceStatusView(SEEN, NOW).remote, '192.0.2.7:4000');
  t.is(deviceStatusView({ ...SEEN, remote_ip: '2001:db8::1' }, NOW).remote, '[2001:db8::1]:4000');
  t.is(deviceStatusView({ ...SEEN, remote_port: null }, NOW).remote, '192.0.2.7');
  t.is(deviceStatusView({ ...SEEN, remote_ip: null }, NOW).remote, 'unknown');
});

test('nothing was seen of a device that is just made', (t) => {
  const nothing = {
    latest_handshake: null,
    remote_ip: null,
    remote_port: null,
    rx_bytes: null,
    tx_bytes: null,
  };
  const { state, downloaded, uploaded, handshake } = deviceStatusView(nothing, NOW);
  t.deepEqual([state, downloaded, uploaded, handshake], ['Never seen', '0 B', '0 B', null]);
});

test('a device stands as its switches say, with the times that pages tell', (t) => {
  const at = (ms: number) => new Date(NOW + ms);
  const rows: [StandingView['state'], disabled: Date | null, expires: Date | null][] = [
    ['on', null, null],
    ['on', null, at(1)],
    ['ended', null, at(0)],
    ['off', at(-1), at(-1)],
  ];
  for (const [state, disabled_at, expires_at] of rows)
    t.deepEqual(standingView({ disabled_at, expires_at }, NOW), {
      state,
      disabledAt: disabled_at?.toISOString() ?? null,
      ends: expires_at?.toISOString() ?? null,
    });
});

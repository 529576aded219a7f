// What the console shows of a device, in words.

import test from 'ava';
import { ONLINE_MS } from '../../../../lib/observe/presence.ts';
import {
  deviceStatusView,
  type SwitchView,
  switchView,
  stopOf,
} from '../../../../lib/web/parts/device-status.ts';

const NOW = Date.parse('2026-11-21T08:00:00.000Z');
const SEEN = {
  latest_handshake: new Date(NOW - ONLINE_MS + 1),
  remote_ip: '192.0.2.7',
  remote_port: 4_000,
  rx_bytes: 1_500,
  tx_bytes: 2_500_000,
};

test('a device is online while its keys can be used', (t) => {
  t.is(deviceStatusView(SEEN, null, NOW).state, 'Online');
  t.is(deviceStatusView(SEEN, null, NOW).badge, 'good');
  const late = { ...SEEN, latest_handshake: new Date(NOW - ONLINE_MS) };
  t.is(deviceStatusView(late, null, NOW).state, 'Offline');
  t.is(deviceStatusView({ ...SEEN, latest_handshake: null }, null, NOW).state, 'Never seen');
});

test('down and up are seen from the device', (t) => {
  const { downloaded, uploaded, rxBytes, txBytes, handshake } = deviceStatusView(SEEN, null, NOW);
  t.deepEqual(
    [downloaded, uploaded, rxBytes, txBytes],
    ['2.5\u00a0MB', '1.5\u00a0kB', 1_500, 2_500_000],
  );
  t.is(handshake, '2026-11-21T07:57:00.001000Z');
});

test('the address is shown with its port, IPv6 in brackets', (t) => {
  t.is(deviceStatusView(SEEN, null, NOW).remote, '192.0.2.7:4000');
  t.is(
    deviceStatusView({ ...SEEN, remote_ip: '2001:db8::1' }, null, NOW).remote,
    '[2001:db8::1]:4000',
  );
  t.is(deviceStatusView({ ...SEEN, remote_port: null }, null, NOW).remote, '192.0.2.7');
  t.is(deviceStatusView({ ...SEEN, remote_ip: null }, null, NOW).remote, 'unknown');
});

test('a new device was never seen', (t) => {
  const nothing = {
    latest_handshake: null,
    remote_ip: null,
    remote_port: null,
    rx_bytes: null,
    tx_bytes: null,
  };
  const { state, downloaded, uploaded, handshake } = deviceStatusView(nothing, null, NOW);
  t.deepEqual(
    [state, downloaded, uploaded, handshake],
    ['Never seen', '0\u00a0B', '0\u00a0B', null],
  );
});

test('a device is shown as on, off or ended, with the times that pages show', (t) => {
  const at = (ms: number) => new Date(NOW + ms);
  const rows: [SwitchView['state'], disabled: Date | null, expires: Date | null][] = [
    ['on', null, null],
    ['on', null, at(1)],
    ['ended', null, at(0)],
    ['off', at(-1), at(-1)],
  ];
  for (const [state, disabled_at, expires_at] of rows)
    t.deepEqual(switchView({ disabled_at, disabled_by: null, expires_at }, NOW), {
      state,
      disabledAt: disabled_at?.toISOString() ?? null,
      isOffByOwner: false,
      isHeld: state !== 'on',
      ends: expires_at?.toISOString() ?? null,
    });
});

test('a device that passes no packets is not online, and the first reason is shown', (t) => {
  const past = new Date(NOW - 1);
  const device = { disabled_at: null, expires_at: null };
  const owner = { disabled_at: null, last_signed_in_at: new Date(NOW - 60_000) };
  const sessions = (vpn_session_duration: number, vpnSessionRequireSignIn = false) => ({
    configuration: { vpn_session_duration },
    config: { vpnSessionRequireSignIn },
  });
  const endless = sessions(0);
  t.is(stopOf(device, owner, endless, NOW), null);
  t.is(stopOf(device, owner, sessions(61), NOW), null);
  const ended = stopOf(device, owner, sessions(60), NOW);
  t.is(ended?.state, 'VPN session ended');
  t.is(deviceStatusView(SEEN, ended, NOW).state, 'VPN session ended');
  t.is(deviceStatusView(SEEN, ended, NOW).badge, 'warning');
  const never = { ...owner, last_signed_in_at: null };
  t.is(stopOf(device, never, sessions(60), NOW), null);
  t.is(stopOf(device, never, sessions(60, true), NOW)?.state, 'VPN session ended');
  const shutOut = { ...owner, disabled_at: past };
  t.is(stopOf(device, shutOut, sessions(1), NOW)?.state, 'Owner disabled');
  t.is(stopOf({ ...device, expires_at: past }, shutOut, endless, NOW)?.state, 'Ended');
  t.is(stopOf({ disabled_at: past, expires_at: past }, owner, endless, NOW)?.state, 'Switched off');
});

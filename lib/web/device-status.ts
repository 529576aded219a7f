// What a device is seen to do, in the words of pages and of their live values alike, and how it
// stands by its switches.

import type { DeviceRow } from '../../models/index.ts';
import { showTime } from '../api/routes.ts';
import { type SwitchState, switchState } from '../devices/switches.ts';
import { ONLINE_MS } from '../observe/presence.ts';
import { bytesInWords } from './words.ts';

/** What the gateways saw of a device last. */
export interface SeenDevice {
  readonly latest_handshake: Date | null;
  readonly remote_ip: string | null;
  readonly remote_port: number | null;
  readonly rx_bytes: number | null;
  readonly tx_bytes: number | null;
}

/** The same as pages show it. */
export interface DeviceStatusView {
  readonly badge: 'good' | 'calm';
  readonly state: 'Online' | 'Offline' | 'Never seen';
  /** ISO; null before the first. */
  readonly handshake: string | null;
  readonly remote: string;
  readonly downloaded: string;
  readonly uploaded: string;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/** How a device stands by its switches, for partials/standing. */
export interface StandingView {
  readonly state: SwitchState;
  /** ISO; null while it is on. */
  readonly disabledAt: string | null;
  /** ISO; null where it does not end. */
  readonly ends: string | null;
}

/** How a device stands at a time. */
export function standingView(
  device: Pick<DeviceRow, 'disabled_at' | 'expires_at'>,
  nowMs: number = Date.now(),
): StandingView {
  return {
    state: switchState(device, nowMs),
    disabledAt: device.disabled_at?.toISOString() ?? null,
    ends: device.expires_at?.toISOString() ?? null,
  };
}

/** Words for what was seen. Down and up are the device's: what was sent to it, it downloaded. */
export function deviceStatusView(seen: SeenDevice, nowMs: number = Date.now()): DeviceStatusView {
  const { latest_handshake: handshake, remote_ip: ip, remote_port: port } = seen;
  const isOnline = handshake !== null && nowMs - handshake.getTime() < ONLINE_MS;
  const host = ip?.includes(':') === true ? `[${ip}]` : ip;
  return {
    badge: isOnline ? 'good' : 'calm',
    state: isOnline ? 'Online' : handshake === null ? 'Never seen' : 'Offline',
    handshake: handshake === null ? null : showTime(handshake),
    remote: ip === null ? 'unknown' : port === null ? ip : `${host}:${port}`,
    downloaded: bytesInWords(seen.tx_bytes ?? 0),
    uploaded: bytesInWords(seen.rx_bytes ?? 0),
    rxBytes: seen.rx_bytes ?? 0,
    txBytes: seen.tx_bytes ?? 0,
  };
}

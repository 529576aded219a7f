// The state of a device in words: what gateways saw of it, why it is not served, and whether it is
// switched off or ends. Pages and their live values use the same words.

import { type DeviceRow, isWithin } from '../../../models/index.ts';
import { showTime } from '../../kit/records/shown.ts';
import { isHeld, type SwitchState, switchState } from '../../domain/devices/switches.ts';
import { type SessionRules, vpnSessionOf } from '../../domain/devices/vpn-session.ts';
import { ONLINE_MS } from '../../observe/presence.ts';
import { say } from '../kit/texts.ts';
import { bytesInWords } from '../kit/words.ts';
import { placeInWords } from './packet-words.ts';

/** What the gateways saw of a device last. */
export interface SeenDevice {
  readonly latest_handshake: Date | null;
  readonly remote_ip: string | null;
  readonly remote_port: number | null;
  readonly rx_bytes: number | null;
  readonly tx_bytes: number | null;
}

/** The state of a device as pages show it. */
export interface DeviceStatusView {
  readonly badge: 'good' | 'calm' | 'bad' | 'warning';
  readonly state: string;
  /** ISO; null before the first. */
  readonly handshake: string | null;
  readonly remote: string;
  readonly downloaded: string;
  readonly uploaded: string;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/** Why a device is not served. It is shown instead of what was seen of the device. */
export interface Stop {
  readonly badge: 'bad' | 'warning';
  readonly state: string;
}

/** The fields of a device's owner that decide whether the device is served. */
export type StopOwner = Parameters<typeof vpnSessionOf>[0];

/** Whether a device is switched off or ends, for partials/switches. */
export interface SwitchView {
  readonly state: SwitchState;
  /** ISO; null while it is on. */
  readonly disabledAt: string | null;
  /** Whether its owner switched it off, who then may switch it on again. */
  readonly isOffByOwner: boolean;
  /** Whether an administrator switched it off, or let it end: its owner does not remove it then. */
  readonly isHeld: boolean;
  /** ISO; null if it does not end. */
  readonly ends: string | null;
}

/** Whether a device is switched off or has ended at a time. */
export function switchView(
  device: Pick<DeviceRow, 'disabled_at' | 'disabled_by' | 'expires_at'>,
  nowMs: number = Date.now(),
): SwitchView {
  return {
    state: switchState(device, nowMs),
    disabledAt: device.disabled_at?.toISOString() ?? null,
    isOffByOwner: device.disabled_by === 'owner',
    isHeld: isHeld(device, nowMs),
    ends: device.expires_at?.toISOString() ?? null,
  };
}

/**
 * Why a device is not served; null if it is served. If there are several reasons, the first one.
 */
export function stopOf(
  device: Pick<DeviceRow, 'disabled_at' | 'expires_at'>,
  owner: StopOwner,
  sessions: SessionRules,
  nowMs: number = Date.now(),
): Stop | null {
  const switches = switchState(device, nowMs);
  if (switches === 'off') return { badge: 'bad', state: say('state.off') };
  if (switches === 'ended') return { badge: 'bad', state: say('state.ended') };
  if (owner.disabled_at !== null) return { badge: 'bad', state: say('state.owner_disabled') };
  const { hasEnded } = vpnSessionOf(owner, sessions.configuration, sessions.config, nowMs);
  return hasEnded ? { badge: 'warning', state: say('state.session_ended') } : null;
}

/**
 * The state of a device in words; `stop` says why it is not served. Down and up are meant as the
 * device sees them: it downloaded what was sent to it.
 */
export function deviceStatusView(
  seen: SeenDevice,
  stop: Stop | null = null,
  nowMs: number = Date.now(),
): DeviceStatusView {
  const { latest_handshake: handshake, remote_ip: ip, remote_port: port } = seen;
  const notOnline = handshake === null ? 'state.never_seen' : 'state.offline';
  const isOnline = handshake !== null && isWithin(handshake, ONLINE_MS, nowMs);
  return {
    badge: stop?.badge ?? (isOnline ? 'good' : 'calm'),
    state: stop?.state ?? say(isOnline ? 'state.online' : notOnline),
    handshake: handshake === null ? null : showTime(handshake),
    remote: ip === null ? say('device.unknown') : placeInWords(ip, port),
    downloaded: bytesInWords(seen.tx_bytes ?? 0),
    uploaded: bytesInWords(seen.rx_bytes ?? 0),
    rxBytes: seen.rx_bytes ?? 0,
    txBytes: seen.tx_bytes ?? 0,
  };
}

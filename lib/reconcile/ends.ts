// The changes that a gateway obeys after a later version has migrated the database: those that
// disable, delete or end something. Rows there may have a meaning that this version cannot know, so
// nothing that gives access is taken: no new device, no rule, no renewed sign-in.
// docs/state.md#a-later-schema.

import type { DeviceEnd, ObeyedUser, UserEnd } from '../../models/index.ts';
import type { Device } from './known.ts';
import { addressIn, deviceEnd, FOREVER_SECONDS, type TranslateSettings } from './translate.ts';

/** The ids to look at, of those that are known. */
export function idsOf<End>(
  known: Iterable<string>,
  ends: ReadonlyMap<string, End>,
  isAll: boolean,
): string[] {
  return [...(isAll ? known : ends.keys())];
}

/** A user who ends no later than before; `endOf` says when (Unix ms). */
export function endedUser(
  row: ObeyedUser,
  end: UserEnd | null,
  endOf: (row: ObeyedUser) => number,
): ObeyedUser {
  if (end === null) return { ...row, disabled_at: row.disabled_at ?? new Date(0) };
  const { last_signed_in_at } = end;
  const other = { ...row, last_signed_in_at };
  const earlier = endOf(other) < endOf(row) ? other : row;
  return { ...earlier, disabled_at: row.disabled_at ?? end.disabled_at };
}

/** When a device ends (Unix ms), no later than before; null: it is no longer the device it was. */
export function endedDevice(
  device: Device,
  end: DeviceEnd | null,
  settings: TranslateSettings,
): number | null {
  if (end === null) return null;
  const { peer, publicKey, ownerId, endMs } = device;
  if (end.public_key !== publicKey || end.user_id !== ownerId) return null;
  if (!('message' in peer)) {
    const key = Buffer.from(end.preshared_key ?? '', 'base64');
    if (!key.equals(peer.presharedKey)) return null;
    for (const family of ['ipv4', 'ipv6'] as const)
      if (!isSame(addressIn(end[family], settings[family]), peer[family])) return null;
  }
  return Math.min(endMs, deviceEnd(end));
}

/** The shorter of two durations of VPN sessions, in seconds; 0 never ends. */
export function shorter(before: number, now: number | null): number {
  const length = (seconds: number): number => (seconds === 0 ? FOREVER_SECONDS : seconds);
  return now !== null && length(now) < length(before) ? now : before;
}

function isSame(left: Uint8Array | null, right: Uint8Array | null): boolean {
  if (left === null || right === null) return left === right;
  return Buffer.compare(left, right) === 0;
}

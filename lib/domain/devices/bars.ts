// Why, by its rows alone, a device may not connect: it is off, it has ended, its owner is disabled
// or has to sign in again. lib/reconcile obeys the same rows; here the reasons are named for
// people.

import type { Device, UserRow } from '../../../models/index.ts';
import { switchState } from './switches.ts';
import { type SessionRules, vpnSessionOf } from './vpn-session.ts';

/** Why a device may neither send nor receive. */
export type Bar =
  | 'device_off'
  | 'device_ended'
  | 'owner_disabled'
  | 'session_ended'
  /** The owner is gone, and the device will be removed. */
  | 'not_served';

/**
 * Why a device may neither send nor receive; null: nothing in the rows forbids it. `owner`: the row
 * of its owner; undefined: there is none.
 */
export function barOf(
  { configuration, config }: SessionRules,
  device: Pick<Device, 'disabled_at' | 'expires_at'>,
  owner: UserRow | undefined,
): Bar | null {
  const now = Date.now();
  const state = switchState(device, now);
  if (state === 'off') return 'device_off';
  if (state === 'ended') return 'device_ended';
  if (owner === undefined) return 'not_served';
  if (owner.disabled_at !== null) return 'owner_disabled';
  return vpnSessionOf(owner, configuration, config, now).hasEnded ? 'session_ended' : null;
}

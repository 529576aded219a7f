// What administrators decide about a device beside its configuration: whether it is enabled, and
// when it ends. One place for the console and the command line; lib/reconcile enforces it.

import type { Device } from '../../../models/index.ts';

/** What is decided; what is left out stays. */
export interface Switches {
  readonly isOn?: boolean;
  /** Null: it does not end. */
  readonly expiresAt?: Date | null;
}

/** The state of a device by its switches alone. */
export type SwitchState = 'on' | 'off' | 'ended';

/** The columns to be written; switching off again keeps the time of the first. */
export function switchValues(
  device: Pick<Device, 'disabled_at'>,
  { isOn, expiresAt }: Switches,
  now = new Date(),
): Partial<Pick<Device, 'disabled_at' | 'expires_at'>> {
  return {
    ...(isOn === undefined ? {} : { disabled_at: isOn ? null : (device.disabled_at ?? now) }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  };
}

/** The state that the columns mean at a time. */
export function switchState(
  { disabled_at, expires_at }: Pick<Device, 'disabled_at' | 'expires_at'>,
  nowMs: number,
): SwitchState {
  if (disabled_at !== null) return 'off';
  return expires_at !== null && expires_at.getTime() <= nowMs ? 'ended' : 'on';
}

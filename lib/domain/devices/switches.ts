// What is decided about a device beside its configuration: whether it is enabled, and when it ends.
// One place for the console and the command line; lib/reconcile enforces it.

import type { Device } from '../../../models/index.ts';

/** What is decided; what is left out stays. */
export interface Switches {
  readonly isOn?: boolean;
  /** Null: it does not end. */
  readonly expiresAt?: Date | null;
}

/** The state of a device by its switches alone. */
export type SwitchState = 'on' | 'off' | 'ended';

/** Who switches a device. */
export type Switcher = NonNullable<Device['disabled_by']>;

/** The columns of a switch. */
type SwitchColumns = Pick<Device, 'disabled_at' | 'disabled_by'>;

/**
 * The columns that an administrator writes; switching off again keeps the time of the first. What
 * an owner switched off is an administrator's from then on.
 */
export function switchValues(
  device: Pick<Device, 'disabled_at'>,
  { isOn, expiresAt }: Switches,
  now = new Date(),
): Partial<SwitchColumns & Pick<Device, 'expires_at'>> {
  return {
    ...(isOn === undefined ? {} : isOn ? IS_ON : offBy('administrator', device, now)),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  };
}

/**
 * The columns that the owner writes; null where an administrator switched the device off, who alone
 * switches it on again.
 */
export function ownSwitchValues(
  device: SwitchColumns,
  isOn: boolean,
  now = new Date(),
): SwitchColumns | null {
  if (device.disabled_at === null) return isOn ? IS_ON : offBy('owner', device, now);
  const { disabled_at, disabled_by } = device;
  if (!isOn) return { disabled_at, disabled_by };
  return disabled_by === 'owner' ? IS_ON : null;
}

const IS_ON: SwitchColumns = { disabled_at: null, disabled_by: null };

function offBy(
  by: Switcher,
  { disabled_at }: Pick<Device, 'disabled_at'>,
  now: Date,
): SwitchColumns {
  return { disabled_at: disabled_at ?? now, disabled_by: by };
}

/** The state that the columns mean at a time. */
export function switchState(
  { disabled_at, expires_at }: Pick<Device, 'disabled_at' | 'expires_at'>,
  nowMs: number,
): SwitchState {
  if (disabled_at !== null) return 'off';
  return hasEnded(expires_at, nowMs) ? 'ended' : 'on';
}

/**
 * Whether an administrator switched a device off, or let it end. Its owner neither removes it nor
 * changes its key, for a key that is free again could be added anew.
 */
export function isHeld(
  { disabled_at, disabled_by, expires_at }: SwitchColumns & Pick<Device, 'expires_at'>,
  nowMs: number,
): boolean {
  return (disabled_at !== null && disabled_by !== 'owner') || hasEnded(expires_at, nowMs);
}

function hasEnded(expiresAt: Date | null, nowMs: number): boolean {
  return expiresAt !== null && expiresAt.getTime() <= nowMs;
}

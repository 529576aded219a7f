// What the translation of rows knows of users and devices, and the part of it that others may read.

import type { PeerConfig } from '../../dataplane/index.ts';
import type { ObeyedUser } from '../../models/index.ts';
import type { Refusal, RowLimits } from './translate.ts';

/** A device as metrics and the log name it. */
export interface KnownDevice {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
}

/** A row that the gateway cannot obey. */
export interface Problem {
  readonly table: 'devices' | 'rules';
  readonly id: string;
  readonly message: string;
}

/** A user, with groups and devices. */
export interface Owner {
  /** Null if the user does not exist but has devices. */
  row: ObeyedUser | null;
  isServed: boolean;
  /** The groups of the user, as the packet path takes them. */
  groups: string;
  readonly devices: Set<Device>;
}

/** A device, and what its row means. */
export interface Device {
  readonly id: string;
  readonly name: string;
  readonly ownerId: string;
  readonly publicKey: string;
  readonly usesDefaultMtu: boolean;
  readonly limits: RowLimits;
  peer: PeerConfig | Refusal;
  /** Until when the device is on, in Unix ms; `isOn` says whether that time is still to come. */
  endMs: number;
  isOn: boolean;
}

/** Why a device is no longer served; `removed`: for another reason, or it is not known any more. */
export type Removal =
  | 'switched_off'
  | 'expired'
  | 'owner_disabled'
  | 'session_ended'
  | 'key_replaced'
  | 'deleted'
  | 'removed';

/** Why a device that exists is not served; of several reasons the first, as pages show them. */
export function whyStopped({ endMs, isOn }: Device, owner: Owner | undefined): Removal {
  if (endMs === Number.NEGATIVE_INFINITY) return 'switched_off';
  if (!isOn) return 'expired';
  if (owner?.row == null) return 'removed';
  if (owner.row.disabled_at !== null) return 'owner_disabled';
  return owner.isServed ? 'removed' : 'session_ended';
}

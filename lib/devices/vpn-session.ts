// The VPN session of a user, as a person may ask about it: until when their devices pass packets.
// When it ends is decided where the packets are (reconcile/translate.ts); this tells people.
// api.md, section 8.

import type { Config } from '../../config/index.ts';
import type { UserRow } from '../../models/index.ts';
import type { EffectiveConfiguration } from '../api/v0/effective-configuration.ts';
import { sessionEnd } from '../reconcile/translate.ts';

/** Where a VPN session stands. */
export interface VpnSession {
  /** When it ends or ended; null where it never does, or never began. */
  readonly endsAt: Date | null;
  readonly hasEnded: boolean;
}

/** The VPN session of a user. */
export function vpnSessionOf(
  user: UserRow,
  { vpn_session_duration: seconds }: Pick<EffectiveConfiguration, 'vpn_session_duration'>,
  config: Pick<Config, 'vpnSessionRequireSignIn'>,
  nowMs: number = Date.now(),
): VpnSession {
  const endMs = sessionEnd(user, seconds, config.vpnSessionRequireSignIn);
  return {
    endsAt: Number.isFinite(endMs) ? new Date(endMs) : null,
    hasEnded: endMs <= nowMs,
  };
}

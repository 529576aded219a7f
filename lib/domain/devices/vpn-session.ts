// The VPN session of a user, as a person may ask about it: until when their devices pass packets.
// When it ends is decided where the packets are (reconcile/translate.ts); this tells people.
// docs/api.md#vpn-sessions.

import type { Config } from '../../../config/index.ts';
import type { UserRow } from '../../../models/index.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import { FOREVER_SECONDS, isIn, vpnSessionTime } from '../../reconcile/translate.ts';

/** The state of a VPN session. */
export interface VpnSession {
  /**
   * When it ends or ended; null where it never does, where it never began, and where the clock was
   * far ahead at the sign-in.
   */
  readonly endsAt: Date | null;
  readonly hasEnded: boolean;
}

/** What decides how long sessions are. */
export interface SessionRules {
  readonly configuration: Pick<EffectiveConfiguration, 'vpn_session_duration'>;
  readonly config: Pick<Config, 'vpnSessionRequireSignIn'>;
}

/** How long a session is; 0 where none ends. */
export function sessionSeconds({
  vpn_session_duration: seconds,
}: SessionRules['configuration']): number {
  return seconds === FOREVER_SECONDS ? 0 : seconds;
}

/** The VPN session of a user. */
export function vpnSessionOf(
  user: Pick<UserRow, 'disabled_at' | 'last_signed_in_at'>,
  { vpn_session_duration: seconds }: SessionRules['configuration'],
  config: SessionRules['config'],
  nowMs: number = Date.now(),
): VpnSession {
  const time = vpnSessionTime(user, seconds, config.vpnSessionRequireSignIn);
  const isKnown = Number.isFinite(time.untilMs) && time.fromMs <= nowMs;
  return { endsAt: isKnown ? new Date(time.untilMs) : null, hasEnded: !isIn(time, nowMs) };
}

// When a search of devices finds one that is served and online: for the console and for commands.

import type { ServiceRules } from '../../models/index.ts';
import { sessionSeconds, type SessionRules } from '../domain/devices/vpn-session.ts';
import { ONLINE_MS } from './presence.ts';

/** The rules by which the search of devices decides whether a device is served. */
export function serviceRules(
  { configuration, config }: SessionRules,
  nowMs: number = Date.now(),
): ServiceRules {
  const durationMs = sessionSeconds(configuration) * 1_000;
  return {
    now: new Date(nowMs),
    onlineSince: new Date(nowMs - ONLINE_MS),
    sessionsSince: durationMs === 0 ? null : new Date(Math.max(0, nowMs - durationMs)),
    requireSignIn: config.vpnSessionRequireSignIn,
  };
}

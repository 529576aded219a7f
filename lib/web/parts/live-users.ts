// The list of users, live: the state of each, devices that are online, the traffic of this month
// against the quota, and the latest sign-in.

import {
  countOwnedDevices,
  type Database,
  monthOf,
  readQuotaUsage,
  readUsers,
  type UserRow,
} from '../../../models/index.ts';
import { readWaits } from '../../auth/attempts.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { serviceRules } from '../../observe/service-rules.ts';
import { quotaStateOf } from '../../reconcile/quota-state.ts';
import { bytesInWords, counted, minutesUntil } from '../kit/words.ts';
import type { LiveCell } from './live-list.ts';
import type { NameOfProvider } from './provider-names.ts';

/** A user and what is shown of them in the list. */
export interface ListedUser {
  readonly user: UserRow;
  readonly cells: readonly LiveCell[];
}

/** What the list needs beside the rows. */
export interface UserRules {
  readonly sessions: SessionRules;
  /** The quota of users without one of their own, in bytes a month; null: none. */
  readonly defaultQuota: number | null;
  readonly nameOf: NameOfProvider;
}

/** Reads users by their ids, in any order. */
export async function readListedUsers(
  database: Database,
  ids: readonly string[],
  { sessions, defaultQuota, nameOf }: UserRules,
  nowMs = Date.now(),
): Promise<ListedUser[]> {
  const users = await readUsers(database, { ids: [...ids] });
  const counts = await countOwnedDevices(database, ids, serviceRules(sessions, nowMs));
  const used = await readQuotaUsage(database, monthOf(nowMs), ids);
  const waits = await readWaits(database, users, new Date(nowMs));
  return users.map((user) => {
    const { badge, text, help = '' } = userBadge(user, nameOf, waits.get(user.id));
    const month = quotaStateOf(user, defaultQuota, used.get(user.id) ?? 0);
    const { devices, online } = counts.get(user.id) ?? { devices: 0, online: 0 };
    const signedIn = user.last_signed_in_at?.toISOString();
    const cells = [
      // As for a device: green is who is online.
      { dot: badge !== 'good' ? badge : online > 0 ? 'good' : 'calm' },
      { text, help },
      { text: String(devices), help: onlineInWords(online) },
      {
        text: bytesInWords(month.used),
        help: month.quota === null ? '' : `of ${bytesInWords(month.quota)}`,
      },
      signedIn === undefined
        ? { text: 'never' }
        : { text: '', time: signedIn, help: methodWords(user, nameOf) },
    ];
    return { user, cells };
  });
}

function onlineInWords(count: number): string {
  return count === 0 ? '' : counted(count, 'online', 'online');
}

/** The state of a user, as a badge. */
export function userBadge(
  { disabled_at, disabled_by, disabled_provider: provider }: UserRow,
  nameOf: NameOfProvider,
  waitsUntil?: Date,
): { readonly text: string; readonly badge: string; readonly help?: string } {
  if (disabled_at === null && waitsUntil !== undefined)
    return { text: 'Locked', badge: 'bad', help: `for ${minutesUntil(waitsUntil)}` };
  if (disabled_at === null) return { text: 'Enabled', badge: 'good' };
  const badge = { text: 'Disabled', badge: 'bad' };
  return disabled_by === 'provider'
    ? { ...badge, help: `by ${provider === null ? 'a provider' : nameOf(provider)}` }
    : badge;
}

/** The way in which a user signed in last, in words. */
export function methodWords(
  { last_signed_in_method: method }: UserRow,
  nameOf: NameOfProvider,
): string {
  if (method === null) return '';
  return method === LOCAL_METHOD ? 'by password' : `through ${nameOf(method)}`;
}

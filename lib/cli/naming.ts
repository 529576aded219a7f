// Which record somebody means: devices by owner and name, by a name that only one has, by address,
// id or short id; users by e-mail, id or short id; groups by name, id or short id; the others by id
// or short id. Where records are searched, in the database or at the gateway, is left to `Search`.

import type { DeviceNaming, NamedByIdEnd, NamedDevice } from '../../models/index.ts';
import { noDevice, noGroup, noRule, noUser } from '../kit/process/absent.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { isAddress, isUuid } from '../kit/validation/texts.ts';
import type { Finds, Named } from './row.ts';

/** Searches records; what is not there is null, or an empty list. */
export interface Search {
  readonly devices: (naming: DeviceNaming) => Promise<NamedDevice[]>;
  /** The name of a user is the e-mail address as it is kept. */
  readonly user: (
    by: { readonly id: string } | { readonly email: string },
  ) => Promise<Named | null>;
  readonly group: (
    by: { readonly id: string } | { readonly name: string },
  ) => Promise<Named | null>;
  readonly hasRule: (id: string) => Promise<boolean>;
  readonly idsEnding: (kind: NamedByIdEnd, end: string) => Promise<string[]>;
}

/** The last 8 hex digits of an id. The first say when it was made, and are alike for many. */
const SHORT_ID = /^[0-9a-f]{8}$/i;

/** So many candidates fit into a sentence. */
const CANDIDATES_SHOWN = 5;

/** Whether a text may be the end of an id. */
export function isShortId(text: string): boolean {
  return SHORT_ID.test(text);
}

/** Whether a text is an id or the end of one. */
export function isIdOrEnd(text: string): boolean {
  return isUuid(text) || isShortId(text);
}

/** A whole id as it was typed; else the id of what was named. */
export function idAsTyped(typed: string | null | undefined, id: string | undefined): string {
  return typed != null && isUuid(typed) ? typed : (id ?? '');
}

/** An e-mail address as it was typed; else that of the user who was named by an id. */
export function emailAsTyped(typed: string | undefined, email: unknown): string {
  const isId = typed === undefined || isIdOrEnd(typed);
  return isId ? String(email) : typed;
}

/** The end of an id, by which people name a record. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** Finds what somebody named; throws a sentence where nothing, or more than one, is meant. */
export function findsBy(search: Search): Finds {
  return {
    async user(named) {
      const user = await userMeant(search, named);
      if (user === null) throw noUser(named);
      return user;
    },
    async group(named) {
      const group = await groupMeant(search, named);
      if (group === null) throw noGroup(named);
      return group;
    },
    async device(named) {
      const device = await deviceMeant(search, named);
      if (device === null) throw noDevice(named);
      return device;
    },
    deviceIfAny: (named) => deviceMeant(search, named),
    async rule(named) {
      const id = await idMeant(search, 'Rule', named);
      if (!(await search.hasRule(id))) throw noRule(named);
      return { id: id.toLowerCase(), name: id };
    },
    policyTest: (named) => idMeant(search, 'PolicyTest', named),
    token: (named) => idMeant(search, 'ApiToken', named),
  };
}

/** The device that somebody means; null: there is none. */
async function deviceMeant(search: Search, named: string): Promise<NamedDevice | null> {
  if (isUuid(named)) return (await search.devices({ id: named.toLowerCase() }))[0] ?? null;
  if (isAddress(named)) return (await search.devices({ address: named }))[0] ?? null;
  // An owner chooses the names of their devices, so what only one device can be is tried first.
  const owned = await deviceOfOwner(search, named);
  if (owned !== undefined) return owned;
  const found = await search.devices({ name: named });
  if (isShortId(named)) {
    const ending = await search.devices({ idEnd: named.toLowerCase() });
    found.push(...ending.filter(({ id }) => found.every((one) => one.id !== id)));
  }
  if (found.length < 2) return found[0] ?? null;
  const shown = found.slice(0, CANDIDATES_SHOWN).map(async ({ user_id, name, ipv4, ipv6, id }) => {
    const owner = await search.user({ id: user_id });
    return `${owner?.name ?? user_id}/${name} (${ipv4 ?? ipv6 ?? id})`;
  });
  throw severalMeant('devices', named, await Promise.all(shown), found.length, 'device list');
}

/**
 * The device that `owner/name` names; null: the owner has none of this name; undefined: no owner is
 * named. An e-mail address and a name may have slashes, too.
 */
async function deviceOfOwner(
  search: Search,
  named: string,
): Promise<NamedDevice | null | undefined> {
  let hasOwner = false;
  for (let at = named.indexOf('/'); at !== -1; at = named.indexOf('/', at + 1)) {
    const owner = await userMeant(search, named.slice(0, at));
    // The owner may be deleted: somebody else's device of that whole name is not meant.
    hasOwner ||= owner !== null || named.slice(0, at).includes('@');
    const naming = { ownerId: owner?.id ?? '', name: named.slice(at + 1) };
    const [device] = owner === null ? [] : await search.devices(naming);
    if (device !== undefined) return device;
  }
  return hasOwner ? null : undefined;
}

/** The user whom somebody means; null: there is none. */
export async function userMeant(search: Search, named: string): Promise<Named | null> {
  if (!isIdOrEnd(named)) return search.user({ email: named });
  const id = await idMeant(search, 'User', named, async (one) => {
    const user = await search.user({ id: one });
    return user?.name ?? one;
  });
  return isUuid(id) ? search.user({ id: id.toLowerCase() }) : null;
}

/** The group that somebody means; null: there is none. */
export async function groupMeant(search: Search, named: string): Promise<Named | null> {
  if (isUuid(named)) return search.group({ id: named.toLowerCase() });
  const group = await search.group({ name: named });
  if (!isShortId(named)) return group;
  const ids = await search.idsEnding('Group', named.toLowerCase());
  const found = [...new Set([...(group === null ? [] : [group.id]), ...ids])];
  if (found.length > 1) throw severalMeant('groups', named, found, found.length, 'group list');
  const [id] = found;
  return id === undefined ? null : search.group({ id });
}

const LISTS: Readonly<Record<NamedByIdEnd, readonly [kind: string, list: string]>> = {
  User: ['users', 'user list'],
  Group: ['groups', 'group list'],
  Rule: ['rules', 'rule list'],
  PolicyTest: ['policy tests', 'policy-test list'],
  ApiToken: ['tokens', 'token list'],
};

/** The whole id where the end of one was typed; all else stays as it was typed. */
async function idMeant(
  search: Search,
  kind: NamedByIdEnd,
  named: string,
  inWords: (id: string) => Promise<string> = async (id) => id,
): Promise<string> {
  if (!isShortId(named)) return named;
  const found = await search.idsEnding(kind, named.toLowerCase());
  const [plural, list] = LISTS[kind];
  if (found.length < 2) return found[0] ?? named;
  const shown = await Promise.all(found.slice(0, CANDIDATES_SHOWN).map(inWords));
  throw severalMeant(plural, named, shown, found.length, list);
}

function severalMeant(
  kind: string,
  named: string,
  candidates: readonly string[],
  count: number,
  list: string,
): UsageError {
  const shown = candidates.slice(0, CANDIDATES_SHOWN).join(', ');
  const more = count > CANDIDATES_SHOWN ? `, … all are in: ${commandLine(list)}` : '';
  return new UsageError(
    `${named} could mean ${count} ${kind}, so nothing was done; name one of them: ${shown}${more}`,
  );
}

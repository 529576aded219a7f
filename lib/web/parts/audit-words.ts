// An entry of the audit trail as a sentence: who did what, with the names of that time. Entries of
// before 1.1 have no names: what they changed may say one, else the record that is there now does.

import type { AuditRow, Database, FieldChange } from '../../../models/index.ts';
import { shownNames } from '../../kit/records/audit-names.ts';

/** What records are called now, by id. */
export type PresentNames = ReadonlyMap<string, string>;

/** How the kinds are called in a sentence: one record, several, and by which field in changes. */
const KINDS: Readonly<Record<string, readonly [one: string, many: string, name?: string]>> = {
  user: ['user', 'users', 'email'],
  device: ['device', 'devices', 'name'],
  rule: ['rule', 'rules', 'destination'],
  group: ['group', 'groups', 'name'],
  policy_test: ['policy test', 'policy tests', 'name'],
  token: ['API token', 'API tokens', 'name'],
  identity: ['linked account', 'linked accounts', 'provider_id'],
  trusted_provider: ['trusted provider', 'trusted providers', 'provider_id'],
  identity_provider: ['identity provider', 'identity providers'],
  saml_metadata: ['SAML metadata', 'SAML metadata'],
  'second factor': ['authenticator', 'authenticators', 'name'],
  'recovery code': ['recovery code', 'recovery codes'],
  'recovery codes': ['recovery codes', 'recovery codes'],
  secret: ['secret', 'secrets'],
  configuration: ['settings', 'settings'],
};
/** Names that anybody may choose: in quotes they cannot pass for a part of the sentence. */
const QUOTED = new Set(['rule', 'device', 'token', 'policy_test', 'second factor']);
/** Kinds whose records have a word before their name; e-mails need none. */
const UNNAMED = new Set(['configuration', 'recovery code', 'recovery codes']);
const VERBS: Readonly<Record<string, string>> = {
  create: 'added',
  update: 'changed',
  delete: 'deleted',
  'begin capture': 'began to capture packets of',
  'end capture': 'ended a capture of packets of',
  'test sign-in': 'tested the sign-in at',
  fail: 'made fail:',
  lock: 'began a wait after failed sign-ins of',
  unlock: 'ended the wait of',
  'make link': 'made a one-time link for',
  'use link': 'used a one-time link of',
  'revoke link': 'revoked the one-time link of',
};
/** What people do to their own account. */
const OWN: Readonly<Record<string, string>> = {
  'sign in': 'signed in',
  'sign out': 'signed out',
  'sign-in refused': 'could not sign in',
  'use link': 'used a one-time link',
};
const OTHERS: Readonly<Record<string, readonly [string, string]>> = {
  'sign in': ['signed', 'in'],
  'sign out': ['signed', 'out'],
  'sign-in refused': ['refused', 'a sign-in'],
};
/** Whose names a page of the trail may say, by kind. */
const NAMED = {
  user: ['User', 'email'],
  device: ['Device', 'name'],
  group: ['Group', 'name'],
  policy_test: ['PolicyTest', 'name'],
  rule: ['Rule', 'destination'],
} as const;
type NamedKind = keyof typeof NAMED;
const REFERENCES: readonly (readonly [field: string, kind: NamedKind])[] = [
  ['user_id', 'user'],
  ['group_id', 'group'],
  ['device_id', 'device'],
];

/** Who acted: an e-mail, or the part of Postern. */
export function whoIn(entry: AuditRow): string {
  return entry.email ?? entry.actor.replace(/^./, (letter) => letter.toUpperCase());
}

/** What happened, behind who did it: `added ann@example.com to Engineering`. */
export function whatIn(entry: AuditRow, present: PresentNames): string {
  const { kind, action } = entry;
  const name = recordName(entry, present);
  const owner = ownerName(entry, present);
  const isOwn = kind === 'user' && entry.record_id === entry.user_id;
  if (kind === 'user' && isOwn && OWN[action] !== undefined) return OWN[action];
  const [before, after] = OTHERS[action] ?? [];
  if (before !== undefined) return `${before} ${name} ${after}`;
  if (kind === 'group_membership')
    return action === 'delete' ? `removed ${name} from ${owner}` : `added ${name} to ${owner}`;
  if (kind === 'recovery code') return `used a recovery code of ${owner}`;
  if (kind === 'recovery codes') return `made new recovery codes for ${owner}`;
  if (kind === 'identity' && action !== 'update')
    return action === 'create' ? `linked ${owner} to ${name}` : `unlinked ${owner} from ${name}`;
  const verb = switched(entry) ?? VERBS[action] ?? action;
  const [word] = KINDS[kind] ?? [kind];
  const isWhole = kind === 'user' || name === goneRecord(entry);
  const named = isWhole ? name : UNNAMED.has(kind) ? `the ${word}` : `${word} ${name}`;
  return `${verb} ${named}${whose(entry, owner)}${fieldsIn(entry)}`;
}

/** What happened to several records at once: `deleted 12 devices`. */
export function whatInAll(entries: readonly AuditRow[], present: PresentNames): string {
  const [first] = entries;
  if (first === undefined) return '';
  const { kind, action } = first;
  const count = entries.length.toLocaleString('en');
  if (kind === 'group_membership') {
    const groups = new Set(entries.map((entry) => ownerName(entry, present)));
    const where = groups.size === 1 ? [...groups].join('') : `${groups.size} groups`;
    return action === 'delete'
      ? `removed ${count} members from ${where}`
      : `added ${count} members to ${where}`;
  }
  const switches = new Set(entries.map(switched));
  const [verb = null] = switches.size === 1 ? switches : [];
  return `${verb ?? VERBS[action] ?? `${action}:`} ${count} ${KINDS[kind]?.[1] ?? 'records'}`;
}

/** Reads what the records of some entries are called now; those that are gone are left out. */
export async function presentNames(
  { models }: Database,
  entries: readonly AuditRow[],
): Promise<PresentNames> {
  const references = Map.groupBy(entries.flatMap(recordsIn), ([kind]) => kind);
  const names = new Map<string, string>();
  const read = async (kind: NamedKind, ids: readonly string[]): Promise<void> => {
    const [model, column] = NAMED[kind];
    // The models differ; the two columns that are read do not.
    const rows = await models[model as 'User'].findAll({
      attributes: ['id', column],
      where: { id: [...new Set(ids)] },
      raw: true,
    });
    for (const row of rows) names.set(row.id, String(row[column as 'email']));
  };
  await Promise.all(
    [...references].map(([kind, some]) =>
      read(
        kind,
        some.map(([, id]) => id),
      ),
    ),
  );
  return names;
}

/** The records that an entry is about; what is not one of a named kind may be about a user. */
function recordsIn(entry: AuditRow): [NamedKind, string][] {
  const kind = entry.kind in NAMED ? (entry.kind as NamedKind) : 'user';
  const all: [NamedKind, string | null][] = [
    ['user', entry.user_id],
    [kind, entry.record_id],
    ...REFERENCES.map(([field, of]): [NamedKind, string | null] => [
      of,
      valueText(entry.changes[field]),
    ]),
  ];
  return all.filter((one): one is [NamedKind, string] => one[1] !== null);
}

function recordName(entry: AuditRow, present: PresentNames): string {
  const { kind, record_name: stored, record_id: id, changes } = entry;
  const quoted = (text: string): string =>
    QUOTED.has(kind) ? `“${text.replaceAll(/[“”]/g, '"')}”` : text;
  if (stored !== null) return quoted(stored);
  if (kind === 'group_membership') return personIn(entry, present);
  const field = KINDS[kind]?.[2];
  const name = field === undefined ? null : valueText(changes[field]);
  const known = name ?? present.get(id);
  if (known !== undefined) return quoted(known);
  return ['user', 'device', 'rule', 'group', 'policy_test'].includes(kind) ? goneRecord(entry) : id;
}

function goneRecord({ kind, record_id: id }: AuditRow): string {
  return `${aOrAn(KINDS[kind]?.[0] ?? kind)} since deleted (${id})`;
}

function ownerName(entry: AuditRow, present: PresentNames): string | null {
  if (entry.owner_name !== null) return entry.owner_name;
  if (entry.kind === 'group_membership') {
    const id = valueText(entry.changes['group_id']);
    return id === null ? 'a group' : (present.get(id) ?? `a group since deleted (${id})`);
  }
  if (entry.kind.startsWith('recovery')) return gone(entry.record_id, present);
  return valueText(entry.changes['user_id']) === null ? null : personIn(entry, present);
}

function personIn({ changes, record_id: id }: AuditRow, present: PresentNames): string {
  return gone(valueText(changes['user_id']) ?? id, present);
}

function gone(id: string, present: PresentNames): string {
  return present.get(id) ?? `a user since deleted (${id})`;
}

function whose({ kind, record_name: stored, action }: AuditRow, owner: string | null): string {
  const forWhom = kind === 'rule' || action === 'create' || action === 'make link';
  if (owner !== null) return ` ${forWhom ? 'for' : 'of'} ${owner}`;
  return kind === 'rule' && stored !== null ? ' for everyone' : '';
}

/** A switch is said in one word, where nothing else changed. */
function switched(entry: AuditRow): string | null {
  if (entry.action !== 'update') return null;
  const { changes } = shownNames(entry);
  const names = Object.keys(changes).filter((name) => name !== 'disabled_by');
  const [name] = names;
  if (names.length !== 1 || (name !== 'enabled' && name !== 'disabled_at')) return null;
  const change = changes[name] ?? {};
  const to = 'to' in change ? change.to : null;
  const isOn = name === 'enabled' ? to === true : to === null;
  return isOn ? 'switched on' : 'switched off';
}

/** The names of what was changed, where it is not all of a record. */
function fieldsIn(entry: AuditRow): string {
  const names = Object.keys(shownNames(entry).changes);
  if (entry.action !== 'update' || names.length === 0 || switched(entry) !== null) return '';
  return `: ${names.map((name) => name.replaceAll('_', ' ')).join(', ')}`;
}

function valueText(change: FieldChange | undefined): string | null {
  if (change === undefined || 'changed' in change || 'added' in change) return null;
  const value = change.to ?? change.from;
  return typeof value === 'string' ? value : null;
}

function aOrAn(word: string): string {
  return `${/^[aeio]/i.test(word) ? 'an' : 'a'} ${word}`;
}

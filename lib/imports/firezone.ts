// Takes over what Firezone 0.7 told of itself: users, devices, rules and the configuration, in one
// transaction. Ids stay where nobody else has them; users who are there already, by their e-mail,
// get what is theirs in the dump; devices keep their keys and addresses, so that clients notice
// nothing once the gateway has the key of Firezone's.

import type { Transaction } from '../../models/index.ts';
import { emailKey, newId, type Role } from '../../models/index.ts';
import { isUuid } from '../api/fields.ts';
import { isFaultless, judgeOf } from '../api/judge.ts';
import { messages } from '../api/messages.ts';
import { judgeNewRules, newRule, ruleFields, type RuleValues } from '../api/v0/rules.ts';
import { userFields } from '../api/v0/users.ts';
import { settingNames } from '../devices/settings.ts';
import { type DeviceImport, importDevices, type WantedDevice } from './devices.ts';
import { importConfiguration, prepareConfiguration } from './firezone-configuration.ts';
import { type DumpRecord, type FirezoneDump, parseFirezoneDump } from './firezone-dump.ts';
import { faultLines, type Imported, runImport } from './run.ts';

/** Rules that are judged at once. */
const BATCH = 200;
const METHOD_CHARACTERS_MAX = 64;

/** Imports a dump. */
export async function importFirezone(
  services: DeviceImport,
  text: string,
  isTrial: boolean,
): Promise<Imported> {
  const dump = parseFirezoneDump(text);
  const id = await prepareConfiguration(services.database);
  return runImport(services.database, isTrial, async (transaction) => {
    const users = await importUsers(services, dump.users, transaction);
    const { ids } = users;
    const wanted = await wantedDevices(services, dump, ids, transaction);
    const deviceFaults = await importDevices(services, wanted, transaction);
    const rules = await importRules(services, dump.rules, ids, transaction);
    const configuration =
      dump.configuration === null
        ? { faults: [], notes: [] }
        : await importConfiguration({ ...services, id }, dump.configuration, transaction);
    return {
      faults: [...dump.faults, ...users.faults, ...deviceFaults, ...rules, ...configuration.faults],
      notes: [...users.notes, ...keyNotes(services, dump), ...configuration.notes],
      counts: {
        'users made': users.made,
        'users merged': users.merged,
        devices: wanted.length,
        rules: dump.rules.length,
        configurations: dump.configuration === null ? 0 : 1,
      },
    };
  });
}

interface ImportedUsers {
  /** From an id of the dump to that of the user. */
  readonly ids: ReadonlyMap<string, string>;
  readonly faults: string[];
  readonly notes: string[];
  readonly made: number;
  readonly merged: number;
}

async function importUsers(
  { database }: DeviceImport,
  dumped: readonly DumpRecord[],
  transaction: Transaction,
): Promise<ImportedUsers> {
  const { User } = database.models;
  const judge = judgeOf<{ email?: string; role?: Role }>(userFields);
  const [present, ids] = [new Map<string, string>(), new Map<string, string>()];
  const taken = new Set<string>();
  for (const user of await User.findAll({ attributes: ['id', 'email_key'], transaction })) {
    present.set(user.email_key, user.id);
    taken.add(user.id);
  }
  const faults: string[] = [];
  const rows = [];
  for (const [index, record] of dumped.entries()) {
    const place = `users[${index}]`;
    const { values, faults: found } = judge(
      { email: record['email'], role: record['role'] },
      'create',
    );
    if (!isFaultless(found)) faults.push(...faultLines(place, found));
    // Who was shut out must not come in because a time was written in another way.
    const disabledAt = record['disabled_at'] ?? null;
    if (disabledAt !== null && timeOf(disabledAt) === null)
      faults.push(`${place}.disabled_at must be a time such as 2024-01-31T12:00:00Z, or null`);
    const { email = '', role = 'unprivileged' } = values;
    const known = present.get(emailKey(email));
    const id = known ?? freeId(record['id'], taken);
    taken.add(id);
    const told = typeof record['id'] === 'string' ? record['id'].toLowerCase() : id;
    if (ids.has(told)) faults.push(`${place}.id ${messages.taken}`);
    else ids.set(told, id);
    if (known !== undefined || !isFaultless(found)) continue;
    present.set(emailKey(email), id);
    rows.push({ id, email, role, ...stateOf(record), ...madeAt(record) });
  }
  for (let at = 0; at < rows.length; at += BATCH)
    await User.bulkCreate(rows.slice(at, at + BATCH), { transaction, validate: false });
  const notes =
    rows.length === 0
      ? []
      : [
          `${rows.length} users have no password, because no dump has one: they sign in through a ` +
            'provider, or an administrator sets a password',
        ];
  const merged = dumped.length - rows.length;
  return { ids, faults, notes, made: rows.length, merged };
}

/** What a dump says of a user that the API would not set. */
function stateOf(record: DumpRecord) {
  const method = record['last_signed_in_method'];
  const disabled_at = timeOf(record['disabled_at']);
  const fits = typeof method === 'string' && method.length <= METHOD_CHARACTERS_MAX;
  return {
    last_signed_in_at: timeOf(record['last_signed_in_at']),
    last_signed_in_method: fits ? method : null,
    disabled_at,
    disabled_by: disabled_at === null ? null : ('administrator' as const),
  };
}

async function wantedDevices(
  { database }: DeviceImport,
  { devices }: FirezoneDump,
  ids: ReadonlyMap<string, string>,
  transaction: Transaction,
): Promise<WantedDevice[]> {
  const present = await database.models.Device.findAll({ attributes: ['id'], transaction });
  const taken = new Set(present.map(({ id }) => id));
  return devices.map((record, index) => {
    const id = freeId(record['id'], taken);
    taken.add(id);
    const fields: Record<string, unknown> = { ...record, user_id: ownerOf(record, ids) };
    // An answer shows the defaults of the configuration, which nobody may send.
    for (const name of settingNames)
      if (![false, 'false', '0'].includes(record[`use_default_${name}`] as never))
        delete fields[name];
    return { place: `devices[${index}]`, fields, columns: { id, ...madeAt(record) } };
  });
}

async function importRules(
  { database }: DeviceImport,
  dumped: readonly DumpRecord[],
  ids: ReadonlyMap<string, string>,
  transaction: Transaction,
): Promise<string[]> {
  const { Rule } = database.models;
  const judge = judgeOf<RuleValues>(ruleFields);
  const present = await Rule.findAll({ attributes: ['id'], transaction });
  const taken = new Set(present.map(({ id }) => id));
  const faults: string[] = [];
  const nowMs = Date.now() - dumped.length;
  for (let at = 0; at < dumped.length; at += BATCH) {
    const batch = dumped.slice(at, at + BATCH);
    const rules = batch.map((record) => {
      const user_id = record['user_id'] === null ? null : ownerOf(record, ids);
      return newRule(judge({ ...record, user_id }, 'create'));
    });
    const rows = [];
    const judged = await judgeNewRules(database, rules, transaction);
    for (const [i, { faults: found, row }] of judged.entries()) {
      const record = batch[i] ?? {};
      const id = freeId(record['id'], taken);
      taken.add(id);
      if (!isFaultless(found)) faults.push(...faultLines(`rules[${at + i}]`, found));
      // Lists are in the order in which rules were made; without a time, that of the dump.
      else rows.push({ id, ...row, inserted_at: new Date(nowMs + at + i), ...madeAt(record) });
    }
    await Rule.bulkCreate(rows, { transaction, validate: false });
  }
  return faults;
}

/** Whose a record is, by the id of the user here; an id that the dump does not know stays. */
function ownerOf(record: DumpRecord, ids: ReadonlyMap<string, string>): unknown {
  const id = record['user_id'];
  return typeof id === 'string' ? (ids.get(id.toLowerCase()) ?? id) : id;
}

function freeId(id: unknown, taken: ReadonlySet<string>): string {
  if (typeof id !== 'string' || !isUuid(id) || taken.has(id.toLowerCase())) return newId();
  return id.toLowerCase();
}

function madeAt(record: DumpRecord): { inserted_at?: Date } {
  const time = timeOf(record['inserted_at']);
  return time === null ? {} : { inserted_at: time };
}

/** Reads a time of an answer. Firezone's are UTC, also where no zone is named. */
function timeOf(value: unknown): Date | null {
  const form = /^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d:\d\d)?$/;
  const [text, zone] = (typeof value === 'string' ? form.exec(value) : null) ?? [];
  if (text === undefined) return null;
  const time = new Date(`${text.replace(' ', 'T')}${zone === undefined ? 'Z' : ''}`);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** The clients know the server by its key. */
function keyNotes({ serverPublicKey }: DeviceImport, { devices }: FirezoneDump): string[] {
  const keys = new Set(devices.map((record) => record['server_public_key']));
  return [...keys]
    .filter((key) => typeof key === 'string' && key !== '' && key !== serverPublicKey)
    .map(
      (key) =>
        `the clients know the server as ${String(key)}: set WIREGUARD_PRIVATE_KEY_FILE to ` +
        "Firezone's private key file, or give every client a new file",
    );
}

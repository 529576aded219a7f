// Takes over the dump of Firezone 0.7: users, devices, rules and the configuration, in one
// transaction. Ids stay if no other record has them. Users whose e-mail exists already stay as they
// are, and get their devices and rules of the dump. Devices keep their keys and addresses, so that
// clients notice nothing once the gateway has Firezone's key.

import type { Transaction } from '../../../models/index.ts';
import { fixedSettingsOf } from '../../domain/configuration/fixed-settings.ts';
import { hasNoErrors, validatorOf } from '../../kit/validation/validate.ts';
import { watchFailures } from '../../domain/policy/watch.ts';
import {
  newRule,
  ruleSchema,
  type RuleValues,
  validateNewRules,
} from '../../domain/rules/rules.ts';
import { settingNames } from '../../domain/devices/settings.ts';
import { type DeviceImport, importDevices, type WantedDevice } from './devices.ts';
import { importConfiguration } from './firezone-configuration.ts';
import {
  type DumpRecord,
  type FirezoneDump,
  freeId,
  madeAt,
  parseFirezoneDump,
} from './firezone-dump.ts';
import { importUsers } from './firezone-users.ts';
import { errorLines, ERRORS_MAX, type Imported, runImport } from './run.ts';

/** Rules that are validated at once. */
const BATCH = 200;

/** Imports a dump. */
export async function importFirezone(
  services: DeviceImport,
  text: string,
  isTrial: boolean,
): Promise<Imported> {
  const dump = parseFirezoneDump(text);
  const { config, database } = services;
  const context = { services: { config, database }, fixed: fixedSettingsOf(config) };
  const work = async (transaction: Transaction): Promise<Imported> => {
    const users = await importUsers(services.database, dump.users, transaction);
    const { ids } = users;
    const wanted = await wantedDevices(services, dump, ids, transaction);
    const deviceErrors = await importDevices(services, wanted, transaction);
    const rules = await importRules(services, dump.rules, ids, transaction);
    const configuration =
      dump.configuration === null
        ? { errors: [], notes: [] }
        : await importConfiguration(services, dump.configuration, transaction);
    return {
      errors: [...dump.errors, ...users.errors, ...deviceErrors, ...rules, ...configuration.errors],
      notes: [...users.notes, ...keyNotes(services, dump), ...configuration.notes],
      counts: {
        'users made': users.made,
        'users merged': users.merged,
        devices: wanted.length,
        rules: dump.rules.length,
        configurations: dump.configuration === null ? 0 : 1,
      },
      present: users.present,
    };
  };
  return runImport(database, isTrial, (transaction) =>
    watchFailures(context, transaction, () => work(transaction)),
  );
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
  const validate = validatorOf<RuleValues>(ruleSchema);
  const present = await Rule.findAll({ attributes: ['id'], transaction });
  const taken = new Set(present.map(({ id }) => id));
  const errors: string[] = [];
  const nowMs = Date.now() - dumped.length;
  for (let at = 0; at < dumped.length && errors.length <= ERRORS_MAX; at += BATCH) {
    const batch = dumped.slice(at, at + BATCH);
    const rules = batch.map((record) => {
      const user_id = record['user_id'] === null ? null : ownerOf(record, ids);
      return newRule(validate({ ...record, user_id }, 'create'));
    });
    const rows = [];
    const checked = await validateNewRules(database, rules, transaction);
    for (const [i, { errors: found, row }] of checked.entries()) {
      const record = batch[i] ?? {};
      const id = freeId(record['id'], taken);
      taken.add(id);
      if (!hasNoErrors(found)) errors.push(...errorLines(`rules[${at + i}]`, found));
      // Lists are in the order in which rules were made; without a time, that of the dump.
      else rows.push({ id, ...row, inserted_at: new Date(nowMs + at + i), ...madeAt(record) });
    }
    await Rule.bulkCreate(rows, { transaction, validate: false });
  }
  return errors;
}

/** Whose a record is, by the id of the user here; an id that the dump does not know stays. */
function ownerOf(record: DumpRecord, ids: ReadonlyMap<string, string>): unknown {
  const id = record['user_id'];
  return typeof id === 'string' ? (ids.get(id.toLowerCase()) ?? id) : id;
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

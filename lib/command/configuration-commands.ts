// The commands of the configuration: what serves by default, shown and changed by the rules that
// `PATCH /v0/configuration` obeys. Identity providers and the logo are left to the API and the
// console: they are long, and a command line is no place for their secrets.

import {
  type Config,
  type ConfigurationVariable,
  configurationVariables,
} from '../../config/index.ts';
import {
  type Database,
  lockScopes,
  readOrCreateConfiguration,
  writeTransaction,
} from '../../models/index.ts';
import { isFaultless } from '../judge/judge.ts';
import {
  judgeConfiguration,
  saveConfiguration,
  shownConfiguration,
} from '../configuration/configuration.ts';
import { effectiveConfiguration, refuseFixed } from '../records/effective-configuration.ts';
import { fixedSettingsOf, rawValue } from '../configuration/fixed-settings.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Outcome } from './run.ts';
import { refusalOf } from './fault-words.ts';
import { servedConfig } from '../installation/running-gateway.ts';
import { UsageError } from '../process/usage-error.ts';
import { table } from './text-table.ts';

const LEFT_OUT = new Set(['LOGO', 'OPENID_CONNECT_PROVIDERS', 'SAML_IDENTITY_PROVIDERS']);

const variables = (configurationVariables as readonly ConfigurationVariable[]).filter(
  ({ name }) => !LEFT_OUT.has(name),
);

type Run = (config: Config, database: Database, command: Command) => Promise<Outcome>;

/** The commands. */
export const configurationCommands: Partial<Record<CommandName, Run>> = {
  'configuration show': showConfiguration,
  'configuration set': setConfiguration,
};

async function showConfiguration(own: Config, database: Database): Promise<Outcome> {
  const config = await servedConfig(own, database);
  const fixed = fixedSettingsOf(config);
  const row = effectiveConfiguration(await readOrCreateConfiguration(database), fixed);
  const shown = shownConfiguration({ services: { config } }, row);
  const data = Object.fromEntries(
    variables.map(({ name }) => [fieldOf(name), shown[fieldOf(name)]]),
  );
  const rows = variables.map(({ name }) => [
    fieldOf(name),
    textOf(data[fieldOf(name)]),
    Object.hasOwn(fixed, fieldOf(name)) ? `fixed by ${name}` : '',
  ]);
  return { text: table(['setting', 'value', ''], rows), data };
}

async function setConfiguration(
  own: Config,
  database: Database,
  { operand }: Command,
): Promise<Outcome> {
  const [, name = '', text = ''] = /^([^=]*)=(.*)$/s.exec(operand ?? '') ?? [];
  const field = name.trim().toLowerCase();
  const variable = variables.find((one) => fieldOf(one.name) === field);
  if (variable === undefined) throw new UsageError(notOne(operand ?? ''));
  const config = await servedConfig(own, database);
  const judged = judgeConfiguration({ [field]: valueOf(variable, text) }, 'update');
  refuseFixed(judged.values, fixedSettingsOf(config), judged.faults);
  if (!isFaultless(judged.faults))
    throw refusalOf(judged.faults, {}, `; for example ${field}=${variable.example}`);
  await readOrCreateConfiguration(database);
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const found = { transaction, lock: true, rejectOnEmpty: true } as const;
    const present = await database.models.Configuration.findOne(found);
    const context = { services: { config, database }, fixed: fixedSettingsOf(config) };
    await saveConfiguration(context, present, judged.values, transaction);
  });
  const { data } = await showConfiguration(own, database);
  const value = (data as Record<string, unknown>)[field];
  return { text: `${field} is ${textOf(value)} now.`, data: { [field]: value } };
}

/** An empty text takes the value away, so that what is derived or empty serves. */
function valueOf({ form }: ConfigurationVariable, text: string): unknown {
  if (text !== '') return rawValue(form, text);
  return form === 'list' ? [] : null;
}

function notOne(operand: string): string {
  const names = variables.map(({ name }) => fieldOf(name)).join(', ');
  return (
    `"${operand}" names nothing to set; write NAME=VALUE, with one of ${names}. ` +
    'Identity providers and the logo are set in the console, or by the API'
  );
}

function fieldOf(variable: string): string {
  return variable.toLowerCase();
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  return value === null || value === undefined ? 'none' : `${value as string | number | boolean}`;
}

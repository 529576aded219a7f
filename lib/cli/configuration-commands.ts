// The commands of the configuration: what serves by default, shown, and changed by the operation of
// the API. Identity providers and the logo are left to the API and the console: they are long, and
// a command line is no place for their secrets.

import { type ConfigurationVariable, configurationVariables } from '../../config/index.ts';
import { shownConfiguration } from '../domain/configuration/configuration.ts';
import { rawValue } from '../domain/configuration/fixed-settings.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { refusalOf } from './error-words.ts';
import type { CommandName } from './grammar.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

const LEFT_OUT = new Set(['LOGO', 'OPENID_CONNECT_PROVIDERS', 'SAML_IDENTITY_PROVIDERS']);

const variables = (configurationVariables as readonly ConfigurationVariable[]).filter(
  ({ name }) => !LEFT_OUT.has(name),
);

/** The commands. */
export const configurationCommands: Partial<Record<CommandName, Run>> = {
  'configuration show': showConfiguration,
  'configuration set': setConfiguration,
};

async function showConfiguration({ rooms }: Given): Promise<Outcome> {
  const context = await (await rooms()).context();
  await context.recall.refresh();
  const shown = shownConfiguration(context, await context.recall.configuration());
  const data = Object.fromEntries(
    variables.map(({ name }) => [fieldOf(name), shown[fieldOf(name)]]),
  );
  const rows = variables.map(({ name }) => [
    fieldOf(name),
    valueText(data[fieldOf(name)]),
    Object.hasOwn(context.fixed, fieldOf(name)) ? `fixed by ${name}` : '',
  ]);
  const columns = [
    ['setting', 'fixed'],
    ['value', 'fixed'],
    ['', 'fixed'],
  ] as const;
  return { ...listed(columns, rows), data };
}

async function setConfiguration(given: Given, { operand }: Command): Promise<Outcome> {
  const [, name = '', text = ''] = /^([^=]*)=(.*)$/s.exec(operand ?? '') ?? [];
  const field = name.trim().toLowerCase();
  const variable = variables.find((one) => fieldOf(one.name) === field);
  if (variable === undefined) throw new UsageError(notOne(operand ?? ''));
  const configuration = { [field]: valueOf(variable, text) };
  const example = `; for example ${field}=${variable.example}`;
  const { answer } = await performOperation(
    given,
    'updateConfiguration',
    { body: { configuration } },
    (errors) => refusalOf(errors, {}, example),
  );
  const value = answer[field];
  return { text: `${field} is ${valueText(value)} now.`, data: { [field]: value } };
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

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  return value === null || value === undefined ? 'none' : `${value as string | number | boolean}`;
}

// The settings that are no secret, as a gateway shows them to commands in the database: a command
// may run in a shell that has other ones.

import type { Config } from './config.ts';
import { type ConfigurationVariable, configurationVariables } from './configuration-variables.ts';
import { fieldOf, type Setting, settings } from './schema.ts';

/** Values by the names of the settings; of variables that fix the configuration, their texts. */
export type OpenSettings = Readonly<Record<string, string | number | boolean | null>>;

const open = (settings as readonly Setting[]).filter(({ secret }) => secret !== true);
const openVariables = (configurationVariables as readonly ConfigurationVariable[]).filter(
  ({ secret }) => secret !== true,
);

/** All of them as they serve. */
export function openSettings(config: Config): OpenSettings {
  const values = open.map(({ name }) => [name, config[fieldOf(name) as keyof Config]]);
  const texts = openVariables.map(({ name }) => [name, config.configurationTexts[name] ?? null]);
  return Object.fromEntries([...values, ...texts]) as OpenSettings;
}

/** The settings of a command, with those that the gateway showed in their place. */
export function withOpenSettings(config: Config, shown: OpenSettings): Config {
  const values = open.filter(({ name }) => shown[name] !== undefined);
  const texts = openVariables.map(({ name }) => [name, shown[name]]);
  return Object.freeze({
    ...config,
    ...Object.fromEntries(values.map(({ name }) => [fieldOf(name), shown[name]])),
    configurationTexts: Object.fromEntries(texts.filter(([, text]) => typeof text === 'string')),
  }) as Config;
}

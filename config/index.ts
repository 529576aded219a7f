// The only reader of the environment. It turns texts into one frozen Config, or reports every
// fault at once, each naming the variable, what it got and an example. Order of precedence:
// environment, NAME_FILE (for secrets), the JSON file named by POSTERN_CONFIG, the default.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import ipaddr from 'ipaddr.js';
import { type ConfigurationVariable, configurationVariables } from './configuration-variables.ts';
import { type Config, fieldOf, type Setting, settings } from './schema.ts';

export { type ConfigurationVariable, configurationVariables } from './configuration-variables.ts';
export type { Config } from './schema.ts';

/** What came of reading the settings; a Config only when there is no fault. */
export interface ParsedConfig {
  config: Config | null;
  /** As in Config; here also when other settings have faults. */
  configurationTexts: Readonly<Record<string, string>>;
  faults: string[];
  warnings: string[];
}

type Environment = Record<string, string | undefined>;

/** Reads a small text file; replaced in tests. */
type ReadText = (path: string) => string;

/** Reads the settings of this process. */
export function readConfig(): ParsedConfig {
  return parseConfig(process.env, (path) => readFileSync(path, 'utf8'));
}

/** Parses settings from texts. Never throws: all faults are listed. */
export function parseConfig(environment: Environment, readText: ReadText): ParsedConfig {
  const faults: string[] = [];
  const file = readConfigFile(environment, readText, faults);
  const values: Record<string, unknown> = {};
  for (const setting of settings as readonly Setting[]) {
    const given = givenText(setting, environment, readText, file, faults);
    if (given === null) values[fieldOf(setting.name)] = setting.fallback;
    else values[fieldOf(setting.name)] = parseOne(setting, given, faults);
  }
  const configurationTexts = readConfigurationTexts(environment, readText, file, faults);
  const config = { ...values, configurationTexts } as unknown as Config;
  if (faults.length === 0) faults.push(...faultsBetween(config));
  return {
    config: faults.length === 0 ? Object.freeze(config) : null,
    configurationTexts,
    faults,
    warnings: unknownNames([...Object.keys(environment), ...Object.keys(file)]),
  };
}

/** Lists the effective values as `NAME=value` lines, secrets hidden. */
export function describeConfig(config: Config): string[] {
  const fixed = (configurationVariables as readonly ConfigurationVariable[]).flatMap(
    ({ name, secret }) => {
      const text = config.configurationTexts[name];
      return text === undefined ? [] : [`${name}=${secret ? '(hidden)' : text}`];
    },
  );
  const lines = (settings as readonly Setting[]).map((setting) => {
    const value = config[fieldOf(setting.name) as Exclude<keyof Config, 'configurationTexts'>];
    const shown = value === null ? '(none)' : setting.secret ? '(hidden)' : String(value);
    return `${setting.name}=${shown}`;
  });
  return [...lines, ...fixed];
}

/** A text and where it came from, for complaints. */
interface Given {
  name: string;
  text: string;
}

function readConfigurationTexts(
  environment: Environment,
  readText: ReadText,
  file: Record<string, string>,
  faults: string[],
): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const variable of configurationVariables) {
    const given = givenText(variable, environment, readText, file, faults);
    if (given !== null) texts[variable.name] = given.text;
  }
  return Object.freeze(texts);
}

function givenText(
  setting: Pick<Setting, 'name' | 'aliases' | 'secret'>,
  environment: Environment,
  readText: ReadText,
  file: Record<string, string>,
  faults: string[],
): Given | null {
  const names = [setting.name, ...(setting.aliases ?? [])];
  for (const name of names) {
    const text = environment[name];
    if (text !== undefined && text !== '') return { name, text };
  }
  const fileName = `${setting.name}_FILE`;
  const path = setting.secret ? environment[fileName] : undefined;
  if (path !== undefined && path !== '') {
    try {
      return { name: fileName, text: readText(path).replace(/\r?\n$/, '') };
    } catch (error) {
      faults.push(`${fileName} names ${path}, which cannot be read: ${messageOf(error)}`);
      return null;
    }
  }
  for (const name of names) {
    const text = file[name];
    if (text !== undefined) return { name, text };
  }
  return null;
}

function parseOne(setting: Setting, given: Given, faults: string[]): unknown {
  const { value, error } = setting.schema
    .label('value')
    .validate(given.text, { errors: { wrap: { label: false } } });
  if (error === undefined) return value as unknown;
  const got = setting.secret ? 'the given value (hidden)' : JSON.stringify(given.text);
  const why = error.message.replace(/^value /, '');
  faults.push(`${given.name} ${why}; got ${got}; for example ${setting.name}=${setting.example}`);
  return null;
}

/** Faults that only show when two settings are read together. */
function faultsBetween(config: Config): string[] {
  const faults: string[] = [];
  if (!config.wireguardIpv4Enabled && !config.wireguardIpv6Enabled)
    faults.push(
      'WIREGUARD_IPV4_ENABLED and WIREGUARD_IPV6_ENABLED are both false; set one to true',
    );
  if ((config.defaultAdminEmail === null) !== (config.defaultAdminPassword === null))
    faults.push('DEFAULT_ADMIN_EMAIL and DEFAULT_ADMIN_PASSWORD come together; set both or none');
  if (config.databaseUrl !== null && config.databaseHost !== null)
    faults.push('DATABASE_URL and DATABASE_HOST are both set; set one of them');
  faults.push(...networkFaults(config));
  if (usesServer(config) && config.databaseEncryptionKey === null)
    faults.push(
      'DATABASE_ENCRYPTION_KEY is required with a MySQL or MariaDB database; make one with: head -c32 /dev/urandom | base64',
    );
  return faults;
}

/** A network must have room for devices, and the gateway's address must be one of its hosts. */
function networkFaults(config: Config): string[] {
  const families = [
    ['IPV4', config.wireguardIpv4Enabled, config.wireguardIpv4Network, config.wireguardIpv4Address],
    ['IPV6', config.wireguardIpv6Enabled, config.wireguardIpv6Network, config.wireguardIpv6Address],
  ] as const;
  return families
    .filter(([, isEnabled]) => isEnabled)
    .flatMap(([family, , network, address]) => {
      const [base, prefixBits] = ipaddr.parseCIDR(network);
      const hostBits = base.toByteArray().length * 8 - prefixBits;
      if (hostBits < 2)
        return [
          `WIREGUARD_${family}_NETWORK ${network} has no room for devices; take a shorter prefix`,
        ];
      const gateway = ipaddr.parse(address);
      return gateway.match(base, prefixBits)
        ? []
        : [
            `WIREGUARD_${family}_ADDRESS ${address} is not inside WIREGUARD_${family}_NETWORK ${network}`,
          ];
    });
}

/** True when the database is a server that others may share. */
function usesServer(config: Config): boolean {
  return config.databaseHost !== null || !(config.databaseUrl ?? 'sqlite:').startsWith('sqlite:');
}

function readConfigFile(
  environment: Environment,
  readText: ReadText,
  faults: string[],
): Record<string, string> {
  const path = environment['POSTERN_CONFIG'];
  if (path === undefined || path === '') return {};
  try {
    const parsed: unknown = JSON.parse(readText(path));
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      throw new Error('it must hold one object of setting names and values');
    return Object.fromEntries(
      Object.entries(parsed)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    );
  } catch (error) {
    faults.push(`POSTERN_CONFIG names ${path}, which cannot be used: ${messageOf(error)}`);
    return {};
  }
}

function unknownNames(names: string[]): string[] {
  return names
    .filter((name) => name.startsWith('POSTERN_') && name !== 'POSTERN_CONFIG')
    .map((name) => `${name} is not a setting of Postern and is ignored`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

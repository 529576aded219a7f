// The only reader of the environment. It turns texts into one frozen Config, or reports every
// error at once, each naming the variable, what it got and an example. Order of precedence:
// environment, NAME_FILE (for secrets), the JSON file named by POSTERN_CONFIG, the default.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import { type ConfigurationVariable, configurationVariables } from './configuration-variables.ts';
import type { Config } from './config.ts';
export { databaseHost } from './database-tls.ts';
export { hostOf } from './forms.ts';
export { refusedRanges } from './networks.ts';
import { mailErrors } from './mail.ts';
import { databaseTlsAdvice, databaseTlsErrors } from './database-tls.ts';
import { egressErrors } from './egress.ts';
import { unknownNames } from './misspelt.ts';
import { WARM_UP } from './launch.ts';
import { networkErrors } from './networks.ts';
import { prefixAdvice } from './own-paths.ts';
import { proxyAdvice } from './proxies.ts';
import { parseRootless, type Rootless, rootlessVariables } from './rootless.ts';
import { fieldOf, type Setting, settings } from './schema.ts';
import { parseSupervisor, type Supervisor } from './supervisor.ts';

export { type ConfigurationVariable, configurationVariables } from './configuration-variables.ts';
export type { Config } from './config.ts';
export { socketsBarred } from './egress.ts';
export { type FlowCollector, flowCollectorOf } from './flow-log.ts';
export { meantSetting } from './misspelt.ts';
export { nearestName } from './nearest-name.ts';
export { type OpenSettings, openSettings, withOpenSettings } from './open-settings.ts';
export { outsidePathOf, prefixOf } from './own-paths.ts';
export type { Supervisor } from './supervisor.ts';

/** What came of reading the settings; a Config only when there is no error. */
export interface ParsedConfig {
  config: Config | null;
  /** As in Config; here also when other settings have errors. */
  configurationTexts: Readonly<Record<string, string>>;
  errors: string[];
  warnings: string[];
  /** What whoever serves with these settings should know; other commands need not say it. */
  advice: string[];
}

type Environment = Record<string, string | undefined>;

/** Reads a small text file; replaced in tests. */
type ReadText = (path: string) => string;

/** Reads the settings of this process. */
export function readConfig(): ParsedConfig {
  return parseConfig(process.env, (path) => readFileSync(path, 'utf8'));
}

/** Reads who started this process and expects reports. */
export function readSupervisor(): Supervisor {
  return parseSupervisor(process.env, process.pid);
}

/** Reads what a gateway without root is to do otherwise. */
export function readRootless(): Rootless {
  return parseRootless(process.env);
}

/** The environment of the gateway without root that this process becomes. */
export function rootlessEnvironment(udpSockets: readonly number[]): Environment {
  return { ...process.env, ...rootlessVariables(udpSockets) };
}

/** Parses settings from texts. Never throws: all errors are listed. */
export function parseConfig(environment: Environment, readText: ReadText): ParsedConfig {
  const errors: string[] = [];
  const file = readConfigFile(environment, readText, errors);
  const values: Record<string, unknown> = {};
  const unread = new Set<string>();
  const absent = new Set<string>();
  for (const setting of settings as readonly Setting[]) {
    const field = fieldOf(setting.name);
    const errorsBefore = errors.length;
    const given = givenText(setting, environment, readText, file ?? {}, errors);
    values[field] = given === null ? setting.fallback : parseOne(setting, given, errors);
    if (given === null) absent.add(field);
    // What is not given may stand in the file that could not be used.
    if (errors.length > errorsBefore || (given === null && file === null)) unread.add(field);
  }
  const configurationTexts = readConfigurationTexts(environment, readText, file ?? {}, errors);
  const warmsUp = environment[WARM_UP] !== 'off';
  const config = { ...values, configurationTexts, warmsUp } as unknown as Config;
  for (const { name, derive } of settings as readonly Setting[])
    if (derive !== undefined && absent.has(fieldOf(name)))
      Object.assign(config, { [fieldOf(name)]: derive(config) });
  errors.push(...errorsBetween(config, unread));
  return {
    config: errors.length === 0 ? Object.freeze(config) : null,
    configurationTexts,
    errors,
    advice: errors.length === 0 ? settingsAdvice(config).map(({ text }) => text) : [],
    warnings: unknownNames(Object.keys(environment), Object.keys(file ?? {})),
  };
}

/** The errors that settings would have, given as texts, beside the others of a config. */
export function errorsOfSettings(
  config: Config,
  texts: Readonly<Record<string, string>>,
): string[] {
  const errors: string[] = [];
  const changed: Record<string, unknown> = {};
  for (const setting of settings as readonly Setting[]) {
    const text = texts[setting.name];
    if (text !== undefined)
      changed[fieldOf(setting.name)] = parseOne(setting, { name: setting.name, text }, errors);
  }
  if (errors.length > 0) return errors;
  return checks
    .filter(({ of }) => of.some((field) => Object.hasOwn(changed, field)))
    .flatMap(({ errors: between }) => between({ ...config, ...changed }));
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
    const value =
      config[fieldOf(setting.name) as Exclude<keyof Config, 'configurationTexts' | 'warmsUp'>];
    const shown = value === null ? '(none)' : setting.secret ? '(hidden)' : String(value);
    return `${setting.name}=${shown}`;
  });
  return [...lines, ...fixed];
}

/** A text and where it came from, for errors. */
interface Given {
  name: string;
  text: string;
}

function readConfigurationTexts(
  environment: Environment,
  readText: ReadText,
  file: Record<string, string>,
  errors: string[],
): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const variable of configurationVariables) {
    const given = givenText(variable, environment, readText, file, errors);
    if (given !== null) texts[variable.name] = given.text;
  }
  return Object.freeze(texts);
}

function givenText(
  setting: Pick<Setting, 'name' | 'aliases' | 'secret'>,
  environment: Environment,
  readText: ReadText,
  file: Record<string, string>,
  errors: string[],
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
      errors.push(
        `${fileName} names ${path}, which cannot be read: ${messageOf(error)}; restore the file, or correct ${fileName}`,
      );
      return null;
    }
  }
  for (const name of names) {
    const text = file[name];
    if (text !== undefined) return { name, text };
  }
  return null;
}

function parseOne(setting: Setting, given: Given, errors: string[]): unknown {
  const { value, error } = setting.schema
    .label('value')
    .validate(given.text, { errors: { wrap: { label: false } } });
  if (error === undefined) return value as unknown;
  const got = setting.secret ? 'the given value (hidden)' : JSON.stringify(given.text);
  const why = error.message.replace(/^value /, '');
  errors.push(`${given.name} ${why}; got ${got}; for example ${setting.name}=${setting.example}`);
  return null;
}

/** A check of settings that must fit together; `of` names all that it looks at. */
interface Check {
  of: readonly (keyof Config)[];
  errors: (config: Config) => string[];
}

const checks: readonly Check[] = [
  {
    of: ['wireguardIpv4Enabled', 'wireguardIpv6Enabled'],
    errors: (config) =>
      config.wireguardIpv4Enabled || config.wireguardIpv6Enabled
        ? []
        : ['WIREGUARD_IPV4_ENABLED and WIREGUARD_IPV6_ENABLED are both false; set one to true'],
  },
  {
    of: ['defaultAdminEmail', 'defaultAdminPassword'],
    errors: (config) =>
      (config.defaultAdminEmail === null) === (config.defaultAdminPassword === null)
        ? []
        : ['DEFAULT_ADMIN_EMAIL and DEFAULT_ADMIN_PASSWORD come together; set both or none'],
  },
  {
    of: ['samlKeyfilePath', 'samlCertfilePath'],
    errors: (config) =>
      (config.samlKeyfilePath === null) === (config.samlCertfilePath === null)
        ? []
        : ['SAML_KEYFILE_PATH and SAML_CERTFILE_PATH come together; set both or none'],
  },
  {
    of: ['httpTlsCert', 'httpTlsKey'],
    errors: (config) =>
      (config.httpTlsCert === null) === (config.httpTlsKey === null)
        ? []
        : ['HTTP_TLS_CERT and HTTP_TLS_KEY come together; set both or none'],
  },
  {
    of: ['databaseTls', 'databaseTlsCa', 'databaseTlsCert', 'databaseTlsKey', 'databaseUrl'],
    errors: databaseTlsErrors,
  },
  { of: ['smtpUrl', 'mailFrom'], errors: mailErrors },
  {
    of: [
      'wireguardTun',
      'wireguardIpv4Enabled',
      'wireguardIpv4Masquerade',
      'wireguardIpv6Enabled',
      'wireguardIpv6Masquerade',
    ],
    errors: egressErrors,
  },
  {
    of: ['databaseUrl', 'databaseHost'],
    errors: (config) =>
      config.databaseUrl === null || config.databaseHost === null
        ? []
        : ['DATABASE_URL and DATABASE_HOST are both set; set one of them'],
  },
  {
    of: ['wireguardIpv4Enabled', 'wireguardIpv4Network', 'wireguardIpv4Address'],
    errors: (config) =>
      config.wireguardIpv4Enabled
        ? networkErrors('IPV4', config.wireguardIpv4Network, config.wireguardIpv4Address)
        : [],
  },
  {
    of: ['wireguardIpv6Enabled', 'wireguardIpv6Network', 'wireguardIpv6Address'],
    errors: (config) =>
      config.wireguardIpv6Enabled
        ? networkErrors('IPV6', config.wireguardIpv6Network, config.wireguardIpv6Address)
        : [],
  },
  {
    of: ['databaseUrl', 'databaseHost', 'databaseEncryptionKey'],
    errors: (config) =>
      config.databaseEncryptionKey !== null || !usesServer(config)
        ? []
        : [
            'DATABASE_ENCRYPTION_KEY is required with a MySQL or MariaDB database; make one with: head -c32 /dev/urandom | base64',
          ],
  },
];

/** Errors that only show when settings are read together; those that were unread decide nothing. */
function errorsBetween(config: Config, unread: ReadonlySet<string>): string[] {
  return checks
    .filter(({ of }) => !of.some((field) => unread.has(field)))
    .flatMap(({ errors }) => errors(config));
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[?::1\]?)$/;

/** What works and may yet not be what was meant. */
export interface Advice {
  /** Where devices are led, who may listen, or something else. */
  readonly about: 'endpoint' | 'clear' | 'other';
  readonly text: string;
}

/** What whoever serves with these settings should think about. */
export function settingsAdvice(config: Config): Advice[] {
  const { externalUrl, wireguardPort, httpHost, httpPort } = config;
  const { hostname } = new URL(externalUrl);
  const advice: Advice[] = [];
  // The files of devices name the host of EXTERNAL_URL as the endpoint.
  if (LOOPBACK.test(hostname) && config.configurationTexts['DEFAULT_CLIENT_ENDPOINT'] === undefined)
    advice.push({
      about: 'endpoint',
      text: `EXTERNAL_URL is ${externalUrl}: devices will look for the gateway at ${hostname}:${wireguardPort}, which is this host itself; set EXTERNAL_URL, or default_client_endpoint in the configuration, to the host as clients reach it`,
    });
  if (isInTheClear(config))
    advice.push({
      about: 'clear',
      text: `The API listens at ${httpHost}:${httpPort} in the clear: whoever is on the way reads passwords and tokens. Set HTTP_TLS_CERT and HTTP_TLS_KEY; or let a proxy speak HTTPS, with HTTP_HOST=127.0.0.1 or TRUSTED_PROXIES and an EXTERNAL_URL of https`,
    });
  if (isBehindProxy(config))
    advice.push({
      about: 'other',
      text: `EXTERNAL_URL is ${externalUrl}, and the gateway listens at ${httpHost}:${httpPort}: if a proxy is between, set TRUSTED_PROXIES to the proxy’s address (127.0.0.1 where it runs on this host); without it all people seem to come from one address, and the wrong passwords of strangers make everybody wait`,
    });
  const ofPath = prefixAdvice(config);
  if (ofPath !== null) advice.push({ about: 'other', text: ofPath });
  return [
    ...advice,
    ...[...proxyAdvice(config), ...databaseTlsAdvice(config)].map((text) => ({
      about: 'other' as const,
      text,
    })),
  ];
}

/** Whether EXTERNAL_URL leads elsewhere than to our own listener, and no proxy is named. */
export function isBehindProxy({
  externalUrl,
  httpHost,
  httpPort,
  httpTlsCert,
  trustedProxies,
}: Config): boolean {
  const { hostname, protocol, port } = new URL(externalUrl);
  if (trustedProxies !== null || LOOPBACK.test(hostname)) return false;
  const isHttps = protocol === 'https:';
  const isOurPort = Number(port === '' ? (isHttps ? 443 : 80) : port) === httpPort;
  return LOOPBACK.test(httpHost) || !isOurPort || isHttps !== (httpTlsCert !== null);
}

/** Whether a host name means the machine that reads it. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether others than this host, and than a proxy that speaks HTTPS, may ask without TLS. */
export function isInTheClear(config: Config): boolean {
  const { httpHost, httpTlsCert, trustedProxies, externalUrl } = config;
  if (httpTlsCert !== null || LOOPBACK.test(httpHost)) return false;
  return trustedProxies === null || !externalUrl.startsWith('https:');
}

/** True when the database is a server that others may share. */
export function usesServer(config: Config): boolean {
  return config.databaseHost !== null || !(config.databaseUrl ?? 'sqlite:').startsWith('sqlite:');
}

/** The settings of POSTERN_CONFIG as texts: empty where none is named, null when unusable. */
function readConfigFile(
  environment: Environment,
  readText: ReadText,
  errors: string[],
): Record<string, string> | null {
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
    errors.push(`POSTERN_CONFIG names ${path}, which cannot be used: ${messageOf(error)}`);
    return null;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

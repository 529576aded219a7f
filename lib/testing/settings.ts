// The settings of a gateway in a test. They have the names and the rules of environment variables,
// but the environment itself is not read.

import { randomBytes } from 'node:crypto';
import {
  type Config,
  configurationVariables,
  describeConfig,
  meantSetting,
  parseConfig,
} from '../../config/index.ts';
import { readFixedSettings } from '../domain/configuration/fixed-settings.ts';
import { newApiToken } from '../kit/process/api-token.ts';

/** The administrator of a gateway in a test. */
export interface Administrator {
  readonly email: string;
  readonly password: string;
  /** The administrator's API token. */
  readonly token: string;
}

/** The settings of a gateway whose environment has only these variables. Throws their errors. */
export function configOf(environment: Readonly<Record<string, string>> = {}): Config {
  const { config, configurationTexts, errors } = parseConfig({ ...environment }, noFiles);
  const fixed = readFixedSettings({ externalUrl: config?.externalUrl ?? '' }, configurationTexts);
  const all = [...errors, ...fixed.errors];
  if (config === null || all.length > 0) throw new Error(all.join('\n'));
  return config;
}

function noFiles(path: string): string {
  throw new Error(`a test gateway reads no files, and so not ${path}`);
}

/** Settings for a gateway in a test process: with an administrator and without a rate limit. */
export function testSettings(given: Readonly<Record<string, string>>): {
  config: Config;
  administrator: Administrator;
} {
  const config = configOf({
    DEFAULT_ADMIN_EMAIL: 'admin@example.com',
    DEFAULT_ADMIN_PASSWORD: randomBytes(15).toString('base64url'),
    BOOTSTRAP_API_TOKEN: newApiToken(),
    HTTP_PORT: '0',
    // Tests send many requests; a test of the limits sets one itself.
    API_RATE_LIMIT: '0',
    ...given,
  });
  refuseUnknown(config, Object.keys(given));
  const { defaultAdminEmail, defaultAdminPassword, bootstrapApiToken } = config;
  return {
    config,
    administrator: {
      email: defaultAdminEmail ?? '',
      password: defaultAdminPassword ?? '',
      token: bootstrapApiToken ?? '',
    },
  };
}

/** Refuses unknown names: an environment may have variables of others, but here it is an error. */
function refuseUnknown(config: Config, names: readonly string[]): void {
  const known = new Set([
    ...describeConfig(config).map((line) => line.slice(0, line.indexOf('='))),
    ...configurationVariables.map(({ name }) => name),
  ]);
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(unknown.map(unknownError).join('\n'));
}

function unknownError(name: string): string {
  const meant = meantSetting(name);
  const end = meant === null ? 'docs/reference/settings.md lists them' : `is ${meant} meant?`;
  return `${name}: no setting of that name; ${end}`;
}

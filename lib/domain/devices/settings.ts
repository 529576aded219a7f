// The five settings of a device that its client's file is made of. Each has a flag: true shows the
// configuration's present default, derived when it is read; false shows the device's own value,
// which stays stored while its flag hides it. docs/api.md#settings-of-a-device.

import type { Config } from '../../../config/index.ts';
import { clientSettings, type DeviceRow, type SettingName } from '../../../models/index.ts';
import { addError, type Errors } from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';

export type { SettingName } from '../../../models/index.ts';

/** The settings, by name. */
export const settingNames = Object.keys(clientSettings) as SettingName[];

/** Values of the settings; lists are never null where they are shown. */
export type SettingValues = Pick<DeviceRow, SettingName>;

/** Flags and own values, as rows have them. */
export type Settings = SettingValues & Record<`use_default_${SettingName}`, boolean>;

/** The greatest MTU that a device may have; the TUN interface may have more. */
export const CLIENT_MTU_MAX = clientSettings.mtu.max;

/** What devices show whose flags are true. */
export function defaultSettings(
  configuration: Pick<EffectiveConfiguration, `default_client_${SettingName}`>,
  config: Config,
): SettingValues {
  return {
    allowed_ips: configuration.default_client_allowed_ips,
    dns: configuration.default_client_dns,
    endpoint: configuration.default_client_endpoint ?? defaultEndpoint(config),
    mtu: configuration.default_client_mtu ?? Math.min(config.wireguardMtu, CLIENT_MTU_MAX),
    persistent_keepalive: configuration.default_client_persistent_keepalive,
  };
}

/** Where clients find the gateway until an administrator says otherwise. */
export function defaultEndpoint(config: Config): string {
  return `${new URL(config.externalUrl).hostname}:${config.wireguardPort}`;
}

/** The values that a device shows. */
export function shownSettings(device: Settings, defaults: SettingValues): SettingValues {
  const pick = <Name extends SettingName>(name: Name): SettingValues[Name] =>
    (device[`use_default_${name}`] ? defaults : device)[name];
  return {
    allowed_ips: pick('allowed_ips') ?? [],
    dns: pick('dns') ?? [],
    endpoint: pick('endpoint'),
    mtu: pick('mtu'),
    persistent_keepalive: pick('persistent_keepalive'),
  };
}

/**
 * Validates values and flags together, on what the device would be: a value beside a flag that is
 * true must not be sent, an endpoint is needed where its flag is false. `present` is null on
 * create.
 */
export function validateSettings(
  values: Partial<Settings>,
  present: Settings | null,
  errors: Errors,
): void {
  for (const name of settingNames) {
    const flagName = `use_default_${name}` as const;
    // A flag that could not be read says nothing about its value.
    if (errors[flagName] !== undefined) continue;
    const usesDefault = values[flagName] ?? present?.[flagName] ?? true;
    if (usesDefault && !isEmpty(values[name])) addError(errors, name, messages.notPresent);
    if (usesDefault || name !== 'endpoint' || errors[name] !== undefined) continue;
    const endpoint = values.endpoint === undefined ? present?.endpoint : values.endpoint;
    if (isEmpty(endpoint)) addError(errors, name, messages.blank);
  }
}

/** The settings among validated values, as rows keep them: an empty list is none. */
export function storedSettings(values: Partial<Settings>): Partial<Settings> {
  const stored: Partial<Settings> = {};
  for (const name of settingNames) {
    const flagName = `use_default_${name}` as const;
    if (values[flagName] !== undefined) stored[flagName] = values[flagName];
    const value = values[name];
    if (value !== undefined) Object.assign(stored, { [name]: isEmpty(value) ? null : value });
  }
  return stored;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

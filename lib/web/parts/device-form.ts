// The form of a device, for its owner and for administrators: what was typed into it, what of that
// goes to the rules of the API, and what partials/device-fields.eta shows of it.

import type { Request } from '@hapi/hapi';
import type { Faults, Judged } from '../../judge/judge.ts';
import type { Shown } from '../../records/shown.ts';
import { type SettingName, settingNames, type SettingValues } from '../../devices/settings.ts';
import { hostFaults, toldFaults } from '../kit/entry-words.ts';
import { membersOf, textOfValue } from '../kit/form.ts';
import { textOf } from '../kit/form-token.ts';

/** One of the five settings as it is typed; a list is a text with commas. */
export interface TypedSetting {
  readonly usesDefault: boolean;
  readonly text: string;
}

/** What the form holds. */
export interface TypedDevice {
  readonly name: string;
  readonly description: string;
  readonly settings: Readonly<Record<SettingName, TypedSetting>>;
}

/** How a setting is asked for. */
interface Question {
  readonly label: string;
  readonly help: string;
  readonly inputmode?: string;
}

const questions: Readonly<Record<SettingName, Question>> = {
  allowed_ips: {
    label: 'Allowed IPs',
    help: 'What the device sends through the VPN: addresses and networks, with commas between.',
  },
  dns: { label: 'DNS servers', help: 'Addresses or search domains, with commas between.' },
  endpoint: { label: 'Endpoint', help: 'Where the device finds the gateway: host or host:port.' },
  mtu: { label: 'MTU', help: '576 to 1500 bytes.', inputmode: 'numeric' },
  persistent_keepalive: {
    label: 'Persistent keepalive',
    help: '0 to 120 seconds; 0 switches it off.',
    inputmode: 'numeric',
  },
};

/** A device that is to be made: nothing typed yet, every setting by default. */
export const UNTYPED: TypedDevice = {
  name: '',
  description: '',
  settings: settingsOf(() => ({ usesDefault: true, text: '' })),
};

/** What was typed. */
export function typedDevice(request: Pick<Request, 'payload'>): TypedDevice {
  return {
    name: textOf(request, 'name'),
    description: textOf(request, 'description'),
    settings: settingsOf((name) => ({
      usesDefault: textOf(request, `use_default_${name}`) !== '',
      text: textOf(request, name),
    })),
  };
}

/** What the form of a device begins with. */
export function typedFrom(device: Shown): TypedDevice {
  return {
    name: textOfValue(device['name']),
    description: textOfValue(device['description']),
    settings: settingsOf((name) => {
      const usesDefault = device[`use_default_${name}`] === true;
      return { usesDefault, text: usesDefault ? '' : textOfValue(device[name]) };
    }),
  };
}

/** The fields for the API's rules. A value behind a default is left out, and so stays stored. */
export function deviceInput(
  { name, description, settings }: TypedDevice,
  { maySetNetwork }: { maySetNetwork: boolean },
): Record<string, unknown> {
  const input: Record<string, unknown> = { name, description };
  if (!maySetNetwork) return input;
  for (const setting of settingNames) {
    const { usesDefault, text } = settings[setting];
    input[`use_default_${setting}`] = usesDefault;
    if (!usesDefault) input[setting] = isList(setting) ? membersOf(text) : text.trim();
  }
  return input;
}

/** What was judged, with the faults of hosts that a form refuses beyond the API's rules. */
export function withHostFaults<Values>(
  { values, faults }: Judged<Values>,
  typed: TypedDevice,
): Judged<Values> {
  return { values, faults: { ...hostFaults(ownTexts(typed)), ...faults } };
}

/** What the partial shows; `settings` is empty where they are not this person's to change. */
export function deviceFormView(
  typed: TypedDevice,
  defaults: SettingValues,
  { maySetNetwork, faults = {} }: { maySetNetwork: boolean; faults?: Faults },
): object {
  const said = toldFaults(faults, ownTexts(typed));
  const faultsOf = (...names: string[]) => names.flatMap((name) => (said[name] ?? []) as string[]);
  return {
    hasFaults: Object.keys(faults).length > 0,
    name: { value: typed.name, faults: faultsOf('name') },
    description: { value: typed.description, faults: faultsOf('description') },
    base: faultsOf('base'),
    settings: (maySetNetwork ? settingNames : []).map((name) => ({
      name,
      ...questions[name],
      ...typed.settings[name],
      fallback: textOfValue(defaults[name]) || 'nothing',
      faults: faultsOf(name, `use_default_${name}`),
    })),
  };
}

/** The values that do not follow the defaults. */
function ownTexts({ settings }: TypedDevice): Record<string, string> {
  const own = settingNames.filter((name) => !settings[name].usesDefault);
  return Object.fromEntries(own.map((name) => [name, settings[name].text]));
}

function settingsOf(
  make: (name: SettingName) => TypedSetting,
): Readonly<Record<SettingName, TypedSetting>> {
  return Object.fromEntries(settingNames.map((name) => [name, make(name)])) as Record<
    SettingName,
    TypedSetting
  >;
}

function isList(name: SettingName): boolean {
  return name === 'allowed_ips' || name === 'dns';
}

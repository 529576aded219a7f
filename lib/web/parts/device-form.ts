// The form of a device, for its owner and for administrators: what was typed into it, what of that
// goes to the rules of the API, and what partials/device-fields.eta shows of it.

import type { Request } from '@hapi/hapi';
import { deviceFields, type DeviceRow, type SentName } from '../../../models/index.ts';
import type { Errors } from '../../kit/validation/validate.ts';
import type { FormError, FormErrors } from '../kit/plain-words.ts';
import type { Shown } from '../../kit/records/shown.ts';
import {
  type SettingName,
  settingNames,
  type SettingValues,
} from '../../domain/devices/settings.ts';
import { hostErrors, quotedErrors } from '../kit/entry-words.ts';
import { membersOf, plainNumber, textOfValue, type Typed } from '../kit/form.ts';
import { textOf } from '../kit/form-token.ts';

/** One of the five settings as it is typed; a list is a text with commas. */
export interface TypedSetting {
  readonly usesDefault: boolean;
  readonly text: string;
}

/** How a text is asked for. */
interface TextQuestion {
  readonly label: string;
  readonly help?: string;
  /** The help in the form of a device that is to be made. */
  readonly helpIfNew?: string;
  /** Members with commas between. */
  readonly isList?: true;
  /** A number of bits per second, with its unit. */
  readonly isSpeed?: true;
  /** A text area of so many lines. */
  readonly rows?: number;
  readonly autocomplete?: string;
  readonly maxlength?: number;
  /** Left out: only administrators see the question and can set the text. */
  readonly ownersMaySet?: true;
}

/** What of the form a person may set. */
export interface FormRights {
  /** The settings of the network. */
  readonly maySetNetwork: boolean;
  /** The texts that are not for owners. */
  readonly isAdministrator: boolean;
}

/** An administrator may set everything. */
export const EVERYTHING: FormRights = { maySetNetwork: true, isAdministrator: true };

const LIMIT = {
  help: 'For example 10 Mbit/s. Empty: what its owner or the settings say.',
  autocomplete: 'off',
  isSpeed: true,
} as const;

/** The texts that the form asks for, in their order; fields of the record. */
const texts = {
  name: {
    label: 'Name',
    helpIfNew: 'For example laptop or phone. If you leave it empty, the gateway chooses a name.',
    autocomplete: 'off',
    maxlength: deviceFields.name.api.atMost,
    ownersMaySet: true,
  },
  description: { label: 'Description', rows: 2, ownersMaySet: true },
  routes: {
    label: 'Networks behind it',
    help: 'Of a branch office or a LAN to which this device leads, with commas between: 10.1.0.0/16. Most devices have none.',
    isList: true,
  },
  limit_down: { label: 'Download limit', ...LIMIT },
  limit_up: { label: 'Upload limit', ...LIMIT },
} satisfies Partial<Record<SentName<typeof deviceFields>, TextQuestion>>;

type TextName = keyof typeof texts;

const textNames = Object.keys(texts) as TextName[];

/** What the form holds. */
export interface TypedDevice extends Readonly<Record<TextName, string>> {
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
  ...textsBy(() => ''),
  settings: settingsOf(() => ({ usesDefault: true, text: '' })),
};

/** What was typed. */
export function typedDevice(request: Pick<Request, 'payload'>): TypedDevice {
  return {
    ...textsBy((name) => textOf(request, name)),
    settings: settingsOf((name) => ({
      usesDefault: textOf(request, `use_default_${name}`) !== '',
      text: textOf(request, name),
    })),
  };
}

/** What the form of a device begins with. */
export function typedFrom(device: Shown): TypedDevice {
  return {
    ...textsBy((name) => textOfValue(device[name], kindOf(name))),
    settings: settingsOf((name) => {
      const usesDefault = device[`use_default_${name}`] === true;
      return { usesDefault, text: usesDefault ? '' : textOfValue(device[name]) };
    }),
  };
}

/** What of a row the form asks for as text. */
export function textsOf(device: DeviceRow): Readonly<Record<TextName, string | null>> {
  const texts = textNames.map((name) => [name, textOfValue(device[name]) || null]);
  return Object.fromEntries(texts) as Record<TextName, string | null>;
}

/**
 * The fields for the API's rules. A value behind a default is left out, and so stays stored. So is
 * what this person may not set, whatever the request holds.
 */
export function deviceInput(typed: TypedDevice, rights: FormRights): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const name of textsFor(rights, texts)) input[name] = textInput(name, typed[name]);
  if (!rights.maySetNetwork) return input;
  const { settings } = typed;
  for (const setting of settingNames) {
    const { usesDefault, text } = settings[setting];
    input[`use_default_${setting}`] = usesDefault;
    if (!usesDefault) input[setting] = isList(setting) ? membersOf(text) : text.trim();
  }
  return input;
}

/** What a form refuses beyond the rules of the API: hosts made of numbers. */
export function hostErrorsOf(typed: TypedDevice): Errors {
  return hostErrors(ownTexts(typed));
}

/** Names of the texts that a person may set, in the order of the questions. */
export function textsFor<Name extends string>(
  { isAdministrator }: Pick<FormRights, 'isAdministrator'>,
  questions: Readonly<Record<Name, TextQuestion>>,
): Name[] {
  const names = Object.keys(questions) as Name[];
  return names.filter((name) => isAdministrator || questions[name].ownersMaySet === true);
}

/** What the partial shows: only what this person may set. */
export function deviceFormView(
  typed: TypedDevice,
  defaults: SettingValues,
  { errors = {}, ...rights }: FormRights & { errors?: FormErrors },
): object {
  const said = quotedErrors(errors, ownTexts(typed));
  const errorsOf = (...names: string[]) =>
    names.flatMap((name) => (said[name] ?? []) as FormError[]);
  return {
    hasErrors: Object.keys(errors).length > 0,
    texts: textsFor(rights, texts).map((name) => ({
      name,
      ...texts[name],
      value: typed[name],
      errors: errorsOf(name),
    })),
    base: errorsOf('base'),
    settings: (rights.maySetNetwork ? settingNames : []).map((name) => ({
      name,
      ...questions[name],
      ...typed.settings[name],
      fallback: textOfValue(defaults[name]) || 'nothing',
      errors: errorsOf(name, `use_default_${name}`),
    })),
  };
}

/** What a person sees of the form as texts by name, to compare two of them. */
export function flatDevice({ settings, ...typed }: TypedDevice, rights: FormRights): Typed {
  const flat = (rights.maySetNetwork ? settingNames : []).map((name) => {
    const { usesDefault, text } = settings[name];
    return [name, usesDefault ? 'the default' : text] as const;
  });
  const seen = textsFor(rights, texts).map((name) => [name, typed[name]] as const);
  return Object.fromEntries([...seen, ...flat]);
}

/** What was typed, but for settings that follow the defaults. */
function ownTexts({ settings, ...typed }: TypedDevice): Record<string, string> {
  const own = settingNames.filter((name) => !settings[name].usesDefault);
  return { ...typed, ...Object.fromEntries(own.map((name) => [name, settings[name].text])) };
}

function textsBy(make: (name: TextName) => string): Readonly<Record<TextName, string>> {
  const made = textNames.map((name) => [name, make(name)]);
  return Object.fromEntries(made) as Record<TextName, string>;
}

function settingsOf(
  make: (name: SettingName) => TypedSetting,
): Readonly<Record<SettingName, TypedSetting>> {
  return Object.fromEntries(settingNames.map((name) => [name, make(name)])) as Record<
    SettingName,
    TypedSetting
  >;
}

function textInput(name: TextName, text: string): string | string[] {
  const { isList, isSpeed } = questionOf(name);
  if (isList === true) return membersOf(text);
  return isSpeed === true ? plainNumber(text, 'speed') : text;
}

function kindOf(name: TextName): 'speed' | 'text' {
  return questionOf(name).isSpeed === true ? 'speed' : 'text';
}

function questionOf(name: TextName): TextQuestion {
  return (texts as Readonly<Record<TextName, TextQuestion>>)[name];
}

function isList(name: SettingName): boolean {
  return name === 'allowed_ips' || name === 'dns';
}

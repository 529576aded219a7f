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
import { say, type TextKey } from '../kit/texts.ts';

/** What is typed into a setting of which the device has none, whatever the default is. */
const NONE = 'none';

/** How a text is asked for. */
interface TextQuestion {
  readonly label: TextKey;
  readonly help?: TextKey;
  /** The help in the form of a device that is to be made. */
  readonly helpIfNew?: TextKey;
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
  help: 'limit.more',
  autocomplete: 'off',
  isSpeed: true,
} as const;

/** The texts that the form asks for, in their order; fields of the record. */
const texts = {
  name: {
    label: 'field.name',
    helpIfNew: 'device.name_more',
    autocomplete: 'off',
    maxlength: deviceFields.name.api.atMost,
    ownersMaySet: true,
  },
  description: { label: 'device.description', rows: 2, ownersMaySet: true },
  routes: {
    label: 'device.routes',
    help: 'device.routes_more',
    isList: true,
  },
  limit_down: { label: 'limit.down', ...LIMIT },
  limit_up: { label: 'limit.up', ...LIMIT },
} satisfies Partial<Record<SentName<typeof deviceFields>, TextQuestion>>;

type TextName = keyof typeof texts;

const textNames = Object.keys(texts) as TextName[];

/** What the form holds. */
export interface TypedDevice extends Readonly<Record<TextName, string>> {
  /** The five settings; a list is a text with commas. Empty: the default. */
  readonly settings: Readonly<Record<SettingName, string>>;
}

/** How a setting is asked for. */
interface Question {
  readonly label: TextKey;
  readonly help: TextKey;
  readonly inputmode?: string;
}

const questions: Readonly<Record<SettingName, Question>> = {
  allowed_ips: {
    label: 'device.allowed_ips',
    help: 'device.allowed_ips_more',
  },
  dns: {
    label: 'device.dns',
    help: 'device.dns_more',
  },
  endpoint: { label: 'device.endpoint', help: 'device.endpoint_more' },
  mtu: { label: 'device.mtu', help: 'device.mtu_more', inputmode: 'numeric' },
  persistent_keepalive: {
    label: 'device.persistent_keepalive',
    help: 'device.persistent_keepalive_more',
    inputmode: 'numeric',
  },
};

/** A device that is to be made: nothing typed yet, every setting by default. */
export const UNTYPED: TypedDevice = {
  ...textsBy(() => ''),
  settings: settingsOf(() => ''),
};

/** What was typed. */
export function typedDevice(request: Pick<Request, 'payload'>): TypedDevice {
  return {
    ...textsBy((name) => textOf(request, name)),
    settings: settingsOf((name) => textOf(request, name)),
  };
}

/** What the form of a device begins with. */
export function typedFrom(device: Shown): TypedDevice {
  return {
    ...textsBy((name) => textOfValue(device[name], kindOf(name))),
    settings: settingsOf((name) =>
      device[`use_default_${name}`] === true ? '' : textOfValue(device[name]) || NONE,
    ),
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
    const text = settings[setting].trim();
    input[`use_default_${setting}`] = text === '';
    const own = text.toLowerCase() === NONE && setting !== 'endpoint' ? '' : text;
    if (text !== '') input[setting] = isList(setting) ? membersOf(own) : own;
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

/** How the form is shown. */
interface FormOptions extends FormRights {
  readonly errors?: FormErrors;
  /** What an empty text means for this device, and who says so. */
  readonly inherited?: Partial<Readonly<Record<TextName, string>>>;
}

/** What the partial shows: only what this person may set. */
export function deviceFormView(
  typed: TypedDevice,
  defaults: SettingValues,
  { errors = {}, inherited = {}, ...rights }: FormOptions,
): object {
  const said = quotedErrors(errors, ownTexts(typed));
  const errorsOf = (...names: string[]) =>
    names.flatMap((name) => (said[name] ?? []) as FormError[]);
  return {
    hasErrors: Object.keys(errors).length > 0,
    texts: textsFor(rights, texts).map((name) => ({
      name,
      ...questionInWords(questionOf(name)),
      placeholder: inherited[name],
      value: typed[name],
      errors: errorsOf(name),
    })),
    base: errorsOf('base'),
    settings: (rights.maySetNetwork ? settingNames : []).map((name) => ({
      name,
      ...questionInWords(questions[name]),
      value: typed.settings[name],
      placeholder: say('device.client_default', { value: textOfValue(defaults[name]) || NONE }),
      errors: errorsOf(name, `use_default_${name}`),
    })),
  };
}

/** What a person sees of the form as texts by name, to compare two of them. */
export function flatDevice({ settings, ...typed }: TypedDevice, rights: FormRights): Typed {
  const flat = (rights.maySetNetwork ? settingNames : []).map((name) => {
    return [name, settings[name].trim() || say('device.the_default')] as const;
  });
  const seen = textsFor(rights, texts).map((name) => [name, typed[name]] as const);
  return Object.fromEntries([...seen, ...flat]);
}

/** A question with its texts in the place of their keys. */
function questionInWords({ label, help, ...rest }: TextQuestion): object {
  const { helpIfNew, ...further } = rest;
  return {
    ...further,
    label: say(label),
    ...(help === undefined ? {} : { help: say(help, { none: NONE }) }),
    ...(helpIfNew === undefined ? {} : { helpIfNew: say(helpIfNew) }),
  };
}

function ownTexts({ settings, ...typed }: TypedDevice): Record<string, string> {
  return { ...typed, ...settings };
}

function textsBy(make: (name: TextName) => string): Readonly<Record<TextName, string>> {
  const made = textNames.map((name) => [name, make(name)]);
  return Object.fromEntries(made) as Record<TextName, string>;
}

function settingsOf(make: (name: SettingName) => string): Readonly<Record<SettingName, string>> {
  return Object.fromEntries(settingNames.map((name) => [name, make(name)])) as Record<
    SettingName,
    string
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

// Settings that the environment fixes. The texts of the variables become values by the rules for
// the fields of a request; errors are worded like those of other settings.
// docs/api.md#settings-fixed-by-the-environment.

import {
  type Config,
  type ConfigurationVariable,
  configurationVariables,
} from '../../../config/index.ts';
import { samlMetadataError } from '../../auth/saml-metadata.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import {
  type FieldError,
  isFieldError,
  metadataError,
  sentenceOf,
  sentences,
} from '../../kit/validation/messages.ts';
import { shortened } from '../../kit/validation/texts.ts';
import { type ConfigurationValues, storedValues, validateConfiguration } from './configuration.ts';
import type { FixedSettings } from '../../kit/records/effective-configuration.ts';

/** What was read from the variables; `fixed` is empty if there are errors. */
export interface ReadFixed {
  readonly fixed: FixedSettings;
  readonly errors: readonly string[];
}

/** Reads the texts of the variables; names every error of each. */
export function readFixedSettings(
  config: Pick<Config, 'externalUrl'>,
  texts: Config['configurationTexts'],
): ReadFixed {
  const errors: string[] = [];
  const values: ConfigurationValues = {};
  for (const variable of configurationVariables as readonly ConfigurationVariable[]) {
    const text = texts[variable.name];
    if (text === undefined) continue;
    const read = readOne(variable, text);
    if ('errors' in read) {
      const end = `got ${quoted(variable, text)}; for example ${variable.name}=${variable.example}`;
      errors.push(...read.errors.map((one) => `${variable.name} ${one}; ${end}`));
    } else Object.assign(values, read.values);
  }
  return { fixed: errors.length === 0 ? storedValues(config, values) : {}, errors };
}

/** The settings that are fixed. Throws if there are errors, which the start has checked before. */
export function fixedSettingsOf(config: Config): FixedSettings {
  const { fixed, errors } = readFixedSettings(config, config.configurationTexts);
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return fixed;
}

function readOne(
  { name, form }: ConfigurationVariable,
  text: string,
): { values: ConfigurationValues } | { errors: string[] } {
  const raw = rawValue(form, text);
  if (raw === undefined) return { errors: [sentences.badJson] };
  const field = name.toLowerCase();
  const { values, errors } = validateConfiguration({ [field]: raw }, 'update');
  for (const [index, provider] of (values.saml_identity_providers ?? []).entries()) {
    const isChecked = errors[field] === undefined && provider.metadata !== '';
    // Metadata with an address are fetched later, so that no provider delays a start.
    const error = isChecked ? samlMetadataError(provider.metadata, provider.entity_id) : null;
    if (error !== null)
      return { errors: [`entry ${index + 1}: metadata ${sentenceOf(metadataError(error))}`] };
  }
  return hasNoErrors(errors) ? { values } : { errors: (errors[field] ?? []).flatMap(textsOf) };
}

/** The value that a request would have sent; undefined for text that should be JSON and is not. */
export function rawValue(form: ConfigurationVariable['form'], text: string): unknown {
  if (form === 'value') return text;
  // In the file of POSTERN_CONFIG a list may be a list of JSON.
  if (form === 'list' && !text.startsWith('[')) return text.split(',');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The texts of one message, or of the messages about one entry of a list. */
function textsOf(error: FieldError | Record<string, FieldError[]>, index: number): string[] {
  if (isFieldError(error)) return [sentenceOf(error)];
  return Object.entries(error).flatMap(([member, texts]) =>
    texts.map((text) => `entry ${index + 1}: ${member} ${sentenceOf(text)}`),
  );
}

function quoted({ secret }: ConfigurationVariable, text: string): string {
  if (secret === true) return 'the given value (hidden)';
  return JSON.stringify(shortened(text));
}

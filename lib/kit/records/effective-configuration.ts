// The configuration as it serves: what the environment fixes, else what the database holds. Pages,
// API and packets all take it from here, so that what people see is what packets obey. Values that
// are derived from other settings (endpoint, MTU) stay null here.
// docs/api.md#settings-fixed-by-the-environment.

import { type Configuration, configurationFields } from '../../../models/index.ts';
import { type Errors, hasCode } from '../validation/validate.ts';
import { isFieldError, overridden } from '../validation/messages.ts';
import { sentColumns } from '../validation/resource.ts';

/** Fields that administrators change while the gateway runs. */
const changeable = sentColumns(configurationFields);

/** A field of the configuration that requests may change. */
export type ChangeableField = (typeof changeable)[number];

/** The values of the fields that the environment fixes. */
export type FixedSettings = Readonly<Partial<Pick<Configuration, ChangeableField>>>;

/** The whole configuration, read-only. */
export type EffectiveConfiguration = Readonly<
  Pick<Configuration, ChangeableField | 'id' | 'inserted_at' | 'updated_at'>
>;

/** The row as it serves beside what the environment fixes. */
export function effectiveConfiguration(
  row: Configuration,
  fixed: FixedSettings,
): EffectiveConfiguration {
  const { id, inserted_at, updated_at } = row;
  return Object.assign(effectiveFields(changeable, row, fixed), { id, inserted_at, updated_at });
}

/**
 * Some fields of the configuration as they serve beside what the environment fixes. A field that
 * does not open throws when it is read, so that nobody fails who needs the others.
 */
export function effectiveFields<Field extends ChangeableField>(
  fields: readonly Field[],
  stored: Pick<Configuration, Field>,
  fixed: FixedSettings,
): Pick<Configuration, Field> {
  const values: Partial<Record<Field, unknown>> = {};
  for (const name of fields) {
    try {
      values[name] = Object.hasOwn(fixed, name) ? fixed[name] : stored[name];
    } catch (error) {
      const get = (): never => {
        throw error;
      };
      Object.defineProperty(values, name, { get, enumerable: true });
    }
  }
  return values as Pick<Configuration, Field>;
}

/** Gives an error for fields that were sent and are fixed, even at the same value. */
export function refuseFixed(values: object, fixed: FixedSettings, errors: Errors): void {
  for (const name of Object.keys(fixed)) {
    const present = errors[name];
    if (!Object.hasOwn(values, name) && present === undefined) continue;
    const texts = (present ?? []).filter(isFieldError);
    // What cannot be read is validated no further.
    if (!hasCode(texts, 'invalid')) errors[name] = [...texts, overridden(name)];
  }
}

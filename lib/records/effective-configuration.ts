// The configuration as it serves: what the environment fixes, else what the database holds. Every
// reader of a setting reads it here, so that none serves what another one does not show. What is
// derived from other settings (endpoint, MTU) stays null here.
// docs/api.md#settings-fixed-by-the-environment.

import { type Configuration, configurationFields } from '../../models/index.ts';
import { type Faults, hasCode } from '../judge/judge.ts';
import { isFieldError, overridden } from '../judge/messages.ts';
import { sentColumns } from '../judge/resource.ts';

/** Fields that administrators change while the gateway runs. */
const changeable = sentColumns(configurationFields);

/** One such field. */
export type ChangeableField = (typeof changeable)[number];

/** Their values, of which the environment may fix some. */
export type FixedSettings = Readonly<Partial<Pick<Configuration, ChangeableField>>>;

/** The whole configuration, read-only. */
export type EffectiveConfiguration = Readonly<
  Pick<Configuration, ChangeableField | 'id' | 'inserted_at' | 'updated_at'>
>;

/** What a row comes to beside what the environment fixes. */
export function effectiveConfiguration(
  row: Configuration,
  fixed: FixedSettings,
): EffectiveConfiguration {
  const stored = Object.fromEntries(changeable.map((name) => [name, row[name]]));
  const { id, inserted_at, updated_at } = row;
  return {
    ...(stored as Pick<Configuration, ChangeableField>),
    ...fixed,
    id,
    inserted_at,
    updated_at,
  };
}

/** Complains of fields that were sent and are fixed, even at the same value. */
export function refuseFixed(values: object, fixed: FixedSettings, faults: Faults): void {
  for (const name of Object.keys(fixed)) {
    const present = faults[name];
    if (!Object.hasOwn(values, name) && present === undefined) continue;
    const texts = (present ?? []).filter(isFieldError);
    // What cannot be read is judged no further.
    if (!hasCode(texts, 'invalid')) faults[name] = [...texts, overridden(name)];
  }
}

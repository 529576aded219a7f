// Renames a group: entries of identity providers that mean the group get its new name in the same
// write, so that its members stay. docs/api.md#groups-of-providers.

import {
  type Configuration,
  type Group,
  GROUPS_MAPPED_MAX,
  type Transaction,
} from '../../../models/index.ts';
import { followGroup } from '../../auth/identity/renamed-group.ts';
import { addError, type Errors } from '../../kit/validation/validate.ts';
import type { FieldError } from '../../kit/validation/messages.ts';
import type { PolicyContext } from '../policy/trial.ts';
import {
  effectiveConfiguration,
  type FixedSettings,
} from '../../kit/records/effective-configuration.ts';

/** The configuration after a rename. */
export interface RenamePlan {
  readonly configuration: Configuration;
  /** The lists of entries that change. */
  readonly lists: FixedSettings;
}

/**
 * Checks another name, and returns the configuration in which entries follow the group; null if no
 * entry means it. The configuration must be locked.
 */
export async function validateRename(
  { services: { database }, fixed }: PolicyContext,
  { provider, name: before }: Group,
  after: string,
  errors: Errors,
  transaction: Transaction,
): Promise<RenamePlan | null> {
  const configuration = await database.models.Configuration.findOne({ transaction, lock: true });
  if (configuration === null || after === before) return null;
  const settings = effectiveConfiguration(configuration, fixed);
  const lists: Record<string, unknown> = {};
  for (const [field, list] of Object.entries(followGroup(settings, { provider, before, after }))) {
    const [method = ''] = list.changed;
    if (Object.hasOwn(fixed, field)) addError(errors, 'name', usedByFixed(method, field));
    for (const { id, groups_map: map = {} } of list.entries)
      if (Object.keys(map).length > GROUPS_MAPPED_MAX) addError(errors, 'name', mapIsFull(id));
    lists[field] = list.entries;
  }
  return Object.keys(lists).length === 0 ? null : { configuration, lists };
}

function usedByFixed(provider: string, field: string): FieldError {
  return { code: 'nameUsedByFixed', values: { provider, variable: field.toUpperCase() } };
}

function mapIsFull(provider: string): FieldError {
  return { code: 'groupsMapFull', values: { provider, most: GROUPS_MAPPED_MAX } };
}

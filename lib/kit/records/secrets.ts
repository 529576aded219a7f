// Fields whose values open something: a caller who may only read gets null in their place.
// docs/api.md#scopes.

import type { Listed } from './collection.ts';
import type { Shown } from './shown.ts';

/** The names of such fields, in whichever record they are. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set(['preshared_key', 'client_secret']);

/** A copy of what is answered, in which every secret is null. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_FIELDS.has(name) ? null : withoutSecrets(member),
    ]),
  );
}

/** A list in whose records every secret is null. */
export function listedWithoutSecrets(listed: Listed): Listed {
  const { name, filters, sources, keepMs } = listed;
  return {
    name,
    filters,
    sources,
    ...(keepMs === undefined ? {} : { keepMs }),
    list: async (selection) => (await listed.list(selection)).map(withoutSecrets) as Shown[],
  };
}

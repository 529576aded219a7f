// The entries of identity providers as their pages read and change them: through the rules of the
// API, and never over what somebody else changed meanwhile.

import { isDeepStrictEqual } from 'node:util';
import type { Request } from '@hapi/hapi';
import type { Unless } from '../../domain/configuration/configuration.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RoomWrite } from './effect.ts';
import type { ProviderEntry, ProviderForm } from './provider-form.ts';
import { changesSettings, fixedSentence } from './settings.ts';
import type { Web } from '../kit/web.ts';

/** All entries of a kind, as they serve. */
export async function entriesOf(
  web: Web,
  { list }: ProviderForm,
): Promise<readonly ProviderEntry[]> {
  await web.recall.refresh();
  return (await web.recall.configuration())[list];
}

/** The entry that a request's address names; throws ApiError where there is none. */
export async function findEntry(web: Web, form: ProviderForm, request: Request) {
  const entries = await entriesOf(web, form);
  const present = entries.find(({ id }) => id === request.params['id']);
  if (present === undefined) throw new ApiError('not_found');
  return { present, entries };
}

/** The write of the whole list, unless there is a reason not to. */
export function changesList(
  caller: Caller,
  { list }: ProviderForm,
  standing: readonly ProviderEntry[],
  next: readonly object[],
  unless: Unless = () => ({}),
): RoomWrite {
  return changesSettings(caller, { [list]: next }, (row, transaction) =>
    isDeepStrictEqual(row[list], standing)
      ? unless(row, transaction)
      : { base: [{ code: 'providersChanged' }] },
  );
}

/** What only a list has that the environment does not fix. */
export function refuseFixedList(web: Web, { list }: ProviderForm): void {
  if (fixedSentence(web, list) !== null) throw new ApiError('not_found');
}

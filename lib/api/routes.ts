// What routes of the API are made with.

import { outsidePathOf } from '../../config/index.ts';
import type { Captures } from '../observe/capture/captures.ts';
import type { Services } from '../services.ts';
import type { RecordContext } from '../kit/records/collection.ts';
import type { Rooms } from '../rooms.ts';
import type { ListTurns } from './list-turns.ts';

/** What the operations of one server share. */
export interface ApiContext extends RecordContext {
  readonly services: Services;
  readonly turns: ListTurns;
  readonly captures: Captures;
  readonly rooms: Rooms;
}

/** The path of EXTERNAL_URL, without its last slash. */
export function outsidePath({ config }: Pick<Services, 'config'>): string {
  return outsidePathOf(config);
}

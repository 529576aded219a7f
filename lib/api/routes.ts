// What routes of the API are made with.

import type { RouteOptions, ServerRoute } from '@hapi/hapi';
import { outsidePathOf } from '../../config/index.ts';
import type { Captures } from '../capture/captures.ts';
import type { Services } from '../services.ts';
import type { RecordContext } from '../records/collection.ts';
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

/** One route; the options are those of its body. */
export function route(
  method: 'GET' | 'POST' | 'DELETE' | ('PATCH' | 'PUT')[],
  path: string,
  options: RouteOptions,
  handler: NonNullable<ServerRoute['handler']>,
): ServerRoute {
  return { method, path, options, handler };
}

// The address of the next page of a list. docs/api.md#lists.

import type { ResponseObject } from '@hapi/hapi';
import type { Services } from '../services.ts';
import { outsidePath } from './routes.ts';

/** Adds the address of the next page to an answer. `cursor`: where it begins; null: no more. */
export function withNextPage(
  response: ResponseObject,
  services: Pick<Services, 'config'>,
  { path, sent, cursor }: { path: string; sent: URLSearchParams; cursor: string | null },
): ResponseObject {
  if (cursor === null) return response;
  const query = new URLSearchParams(sent);
  query.set('cursor', cursor);
  const address = `${outsidePath(services)}${path}?${query.toString()}`;
  return response.header('link', `<${address}>; rel="next"`);
}

// The routes of the streams of live lists.

import type { Request, ServerRoute } from '@hapi/hapi';
import { actorId } from '../../kit/http/request-caller.ts';
import { adminPage, page, streamed } from '../kit/route.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import type { LiveList, LivePage } from './live-list.ts';

/** Rows that one page follows. */
const ROWS_MAX = 200;

/** The route of the stream of a list. */
export function liveRoute(web: Web, path: string, list: LiveList): ServerRoute {
  const route = list.isForAdministrators ? adminPage : page;
  return route('GET', `${path}/live`, (request, h) => {
    list.check?.();
    return streamed(request, h, (viewer) => web.live.followList(list, livePageIn(request), viewer));
  });
}

/** The page whose stream a request asks for. */
function livePageIn(request: Request): LivePage {
  const named = queryText(request, 'rows').split(',', ROWS_MAX);
  const rows = named.filter((name) => name !== '').map((name) => name.split('.', 2));
  return {
    query: request.query,
    rows: new Map(rows.map(([key = '', mark = '']): [string, string] => [key, mark])),
    userId: actorId(request),
  };
}

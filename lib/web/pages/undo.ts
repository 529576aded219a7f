// Undoes what the session did last, once. docs/state.md#undo.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { localPath } from '../../auth/local-path.ts';
import type { Undone } from '../../domain/undo/undo.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { textOf } from '../kit/form-token.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { UNDO, UNDO_DISABLED } from '../kit/undo.ts';
import type { Web } from '../kit/web.ts';

/** The most records that the sentence about what stays as it is names. */
const NAMED_MAX = 3;

/** The routes of undoing. */
export function undoPages(web: Web): ServerRoute[] {
  return [
    adminPage('POST', `${UNDO}/{id}`, (request, h) => undo(web, request, h, false)),
    recently(
      adminPage('POST', `${UNDO_DISABLED}/{id}`, (request, h) => undo(web, request, h, true)),
      '/users',
    ),
  ];
}

async function undo(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  mayLetIn: boolean,
): Promise<ResponseObject> {
  const back = localPath(textOf(request, 'back')) ?? '/';
  try {
    const id = String(request.params['id']);
    const undone = await web.rooms.undos.undo(callerOf(request), id, mayLetIn);
    web.pages.flash(h, undone.left.length === 0 ? 'done' : 'failed', undoneInWords(undone));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    web.pages.flash(h, 'failed', 'Nothing is undone: it is too long ago, or it is undone already.');
  }
  return web.pages.redirect(h, back);
}

function undoneInWords({ count, left }: Undone): string {
  const restored = count === 1 ? '1 record is' : `${count} records are`;
  const done =
    count === 0
      ? 'Nothing is undone.'
      : `Undone: ${restored} as before. Connections that ended do not come back.`;
  const named = left.slice(0, NAMED_MAX).map(({ name, why }) => `${name} (${why})`);
  const more = left.length > NAMED_MAX ? ` and ${left.length - NAMED_MAX} more` : '';
  return left.length === 0 ? done : `${done} Left as it is: ${named.join(', ')}${more}.`;
}

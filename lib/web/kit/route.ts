// The routes of pages: who may see one and how its form is read. A route names no strategy itself,
// so none is open by mistake: signed-in people see `page`, administrators `adminPage`, and only
// what is meant for everybody is an `openPage`.

import type {
  Lifecycle,
  Request,
  ResponseObject,
  ResponseToolkit,
  RouteOptions,
  ServerRoute,
} from '@hapi/hapi';
import type { Readable } from 'node:stream';
import { ADMINISTRATORS, type Viewer } from '../../auth/sessions.ts';
import { accepts } from './compressed.ts';
import { compressEvents } from './compressed-events.ts';
import { takesForm } from './form-token.ts';

type Method = 'GET' | 'POST' | 'DELETE';

/** A page, or a form, of everyone who signed in. */
export function page(method: Method, path: string, handler: Lifecycle.Method): ServerRoute {
  return pageRoute(method, path, { strategy: 'session' }, handler);
}

/** A page, or a form, of administrators; others are answered 403. */
export function adminPage(
  method: Method,
  path: string,
  handler: Lifecycle.Method,
  options: RouteOptions = {},
): ServerRoute {
  return pageRoute(method, path, { strategy: ADMINISTRATORS, scope: ['admin'] }, handler, options);
}

/** A page, or a form, of people who signed in and still have to show a second factor. */
export function secondFactorPage(
  method: Method,
  path: string,
  handler: Lifecycle.Method,
): ServerRoute {
  return pageRoute(method, path, { strategy: 'second factor' }, handler);
}

/** A page, or a form, of everybody; who is signed in is known all the same. */
export function openPage(
  method: Method,
  path: string,
  handler: Lifecycle.Method,
  options: RouteOptions = {},
): ServerRoute {
  return pageRoute(method, path, { strategy: 'session', mode: 'try' }, handler, options);
}

/** Answers with server-sent events, as long as the session of the request lives. */
export function streamed(
  request: Request,
  h: ResponseToolkit,
  follow: (viewer: Viewer) => Readable,
): ResponseObject {
  const { sessionId = '', id: userId = '', role } = request.auth.credentials.user ?? {};
  const events = follow({ sessionId, userId, isAdministrator: role === 'admin' });
  // All browsers take gzip, also without HTTPS.
  const isCompressed = accepts(request.headers['accept-encoding'] as string | undefined, 'gzip');
  const response = h
    .response(isCompressed ? compressEvents(events) : events)
    .type('text/event-stream')
    .vary('accept-encoding');
  if (isCompressed) response.compressed('gzip');
  // The header asks proxies not to collect the answer before they pass it on.
  return response.header('x-accel-buffering', 'no');
}

function pageRoute(
  method: Method,
  path: string,
  auth: RouteOptions['auth'],
  handler: Lifecycle.Method,
  options: RouteOptions = {},
): ServerRoute {
  return {
    method,
    path,
    options: {
      auth: auth as NonNullable<RouteOptions['auth']>,
      ...(method === 'GET' ? {} : { payload: takesForm }),
      ...options,
    },
    handler,
  };
}

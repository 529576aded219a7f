// The routes of pages: who may see one and how its form is read. A route names no strategy itself,
// so none is open by mistake: signed-in people see `page`, administrators `adminPage`, and only
// what is meant for everybody is an `openPage`.

import type { Lifecycle, RouteOptions, ServerRoute } from '@hapi/hapi';
import { ADMINISTRATORS } from '../../auth/sessions.ts';
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

// The account of whoever is signed in.

import type { ServerRoute } from '@hapi/hapi';
import { page } from '../route.ts';
import type { Web } from '../web.ts';

/** The routes of the account. */
export function accountPages(web: Web): ServerRoute[] {
  return [
    page('GET', '/user_account', (request, h) =>
      web.pages.show(request, h, 'account', { title: 'Account' }),
    ),
  ];
}

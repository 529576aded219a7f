// A sign-in of a person who is signed in already: it renews the VPN session and allows changes that
// need a recent sign-in. It takes the way by which the person signed in, and leads back to the page
// from which they came. docs/api.md#sign-in.

import type { ServerRoute } from '@hapi/hapi';
import { localPath } from '../../auth/local-path.ts';
import { page } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';
import { signInAgainPage } from './sign-in.ts';
import { OWN_DEVICES } from './user-devices.ts';

/** The route of signing in again. */
export function renewalPages(web: Web): ServerRoute[] {
  return [
    page('GET', '/sign_in_again', (request, h) =>
      signInAgainPage(web, request, h, {
        returnTo: localPath(request.query['return_to']) ?? OWN_DEVICES,
        isForChange: request.query['why'] === 'recent',
      }),
    ),
  ];
}

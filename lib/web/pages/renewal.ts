// Signing in again while signed in, which renews the VPN session and allows what asks for a recent
// sign-in: by the way by which the person signed in, and back to where they were. api.md,
// section 8.

import type { ServerRoute } from '@hapi/hapi';
import { LOCAL_METHOD } from '../../auth/local.ts';
import { localPath } from '../../auth/local-path.ts';
import { page } from '../route.ts';
import type { Web } from '../web.ts';
import { isLocalOn, providersOf } from './sign-in.ts';
import { OWN_DEVICES } from './user-devices.ts';

/** The route of signing in again. */
export function renewalPages(web: Web): ServerRoute[] {
  return [
    page('GET', '/sign_in_again', async (request, h) => {
      const returnTo = localPath(request.query['return_to']) ?? OWN_DEVICES;
      const session = await web.sessions.find(request);
      const isLocal = await isLocalOn(web);
      const wasLocal = isLocal && session?.method === LOCAL_METHOD;
      const all = await providersOf(web, returnTo);
      const own = wasLocal ? [] : all.filter(({ method }) => method === session?.method);
      // Where the person's own way is gone, the others are left.
      const isAny = !wasLocal && own.length === 0;
      return web.pages.show(request, h, 'sign-in-again', {
        title: 'Sign in again',
        isForChange: request.query['why'] === 'recent',
        returnTo,
        isLocalOn: wasLocal || (isAny && isLocal),
        providers: isAny ? all : own,
      });
    }),
  ];
}

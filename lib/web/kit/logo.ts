// The logo that administrators chose: an address elsewhere, from which pages may then load images,
// or an image that the database keeps, served here so that no page contains it.
// docs/api.md#the-configuration.

import type { Request, ServerRoute } from '@hapi/hapi';
import type { Logo } from '../../../models/index.ts';
import type { Recall } from '../../kit/records/recall.ts';

/** Where pages find the logo; null where none was chosen. */
export function logoAddress(logo: Logo, outside: string): string | null {
  if (typeof logo.url === 'string') return logo.url;
  return typeof logo.data === 'string' ? `${outside}/logo` : null;
}

/** Lets the page of a request load the logo from where it is. */
export function allowLogo(request: Request, { url }: Logo): void {
  if (typeof url === 'string' && URL.canParse(url))
    request.app.allowedSources = { ...request.app.allowedSources, images: new URL(url).origin };
}

/** Serves the image. */
export function logoRoute(recall: Recall): ServerRoute {
  return {
    method: 'GET',
    path: '/logo',
    options: { auth: false },
    handler: async (_request, h) => {
      await recall.refresh();
      const { logo, updated_at: changed } = await recall.configuration();
      if (typeof logo.data !== 'string' || typeof logo.type !== 'string')
        return h.response().code(404);
      return h
        .response(Buffer.from(logo.data, 'base64'))
        .type(logo.type)
        .etag(String(changed.getTime()))
        .header('cache-control', 'no-cache');
    },
  };
}

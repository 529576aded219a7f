// The dashboard, where administrators begin: what the gateway does at this moment. Made on the
// server, then kept up to date by server-sent events.

import type { ServerRoute } from '@hapi/hapi';
import { adminPage } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';

/** The routes of the dashboard. */
export function dashboardPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', '/dashboard', async (request, h) =>
      web.pages.show(request, h, 'dashboard', {
        title: 'Dashboard',
        styles: ['lib/uplot.css'],
        scripts: ['device-live.js', 'dashboard.js'],
        fleet: await web.live.fleet(),
      }),
    ),
    adminPage('GET', '/dashboard/live', (request, h) => {
      const sessionId = request.auth.credentials.user?.sessionId ?? '';
      const response = h.response(web.live.follow(null, sessionId));
      // Proxies that gather answers before they hand them on are told not to.
      return response.type('text/event-stream').header('x-accel-buffering', 'no');
    }),
  ];
}

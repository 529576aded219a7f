// The dashboard, the home page of administrators: what the gateway does at this moment. The server
// makes the page, and server-sent events keep it up to date.

import type { ServerRoute } from '@hapi/hapi';
import { adminPage } from '../kit/route.ts';
import { historyView } from '../parts/history-view.ts';
import type { Web } from '../kit/web.ts';
import { isOneOfSeveral } from '../parts/live-status.ts';
import { unknownSendersView } from '../parts/diagnosis.ts';

/** The routes of the dashboard. */
export function dashboardPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', '/dashboard', async (request, h) =>
      web.pages.show(request, h, 'dashboard', {
        title: 'Dashboard',
        styles: ['lib/uplot.css'],
        scripts: ['device-live.js', 'dashboard.js', 'history.js'],
        history: await historyView(web, request, '/dashboard', { kind: 'all', id: '' }),
        fleet: await web.live.fleet(),
        isOneOfSeveral: await isOneOfSeveral(web.services),
        strangers: await unknownSendersView(web),
      }),
    ),
    adminPage('GET', '/dashboard/live', (request, h) => {
      const sessionId = request.auth.credentials.user?.sessionId ?? '';
      const response = h.response(web.live.follow(null, sessionId));
      // The header asks proxies not to collect the answer before they pass it on.
      return response.type('text/event-stream').header('x-accel-buffering', 'no');
    }),
  ];
}

// The dashboard, the home page of administrators: what the gateway does at this moment. The server
// makes the page, and server-sent events keep it up to date.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { endpoint } from '../../installation/doctor/serving.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { messages } from '../../kit/validation/messages.ts';
import type { Readiness } from '../../observe/gateway-state.ts';
import { hostErrors } from '../kit/entry-words.ts';
import type { Typed } from '../kit/form.ts';
import { textOf } from '../kit/form-token.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { adminPage, streamed } from '../kit/route.ts';
import { act, type Done, saveForm } from '../kit/save.ts';
import type { Web } from '../kit/web.ts';
import { unknownSendersView } from '../parts/diagnosis.ts';
import { ENDPOINT, firstStepsView, type SentEndpoint } from '../parts/first-steps.ts';
import { historyView } from '../parts/history-view.ts';
import { isOneOfSeveral } from '../parts/live-status.ts';
import { changesSettings, fixedSentence } from '../parts/settings.ts';

const DASHBOARD = '/dashboard';

/** The routes of the dashboard. */
export function dashboardPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', DASHBOARD, (request, h) => showDashboard(web, request, h)),
    adminPage('POST', `${DASHBOARD}/endpoint`, (request, h) => saveEndpoint(web, request, h)),
    adminPage('POST', `${DASHBOARD}/first_steps`, (request, h) =>
      act(web, request, h, {
        write: ({ users }) => users.dismissFirstSteps(callerOf(request)),
        back: DASHBOARD,
        done: () => 'The first steps are not shown to you any more.',
      }),
    ),
    adminPage('GET', `${DASHBOARD}/live`, (request, h) =>
      streamed(request, h, (viewer) => web.live.follow(null, viewer)),
    ),
  ];
}

async function showDashboard(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  sent: SentEndpoint | null = null,
): Promise<ResponseObject> {
  await web.services.checkup?.firstLook?.();
  const fleet = await web.live.fleet();
  const steps = await firstStepsView(web, request, fleet, sent);
  return web.pages.show(request, h, 'dashboard', {
    title: 'Overview',
    scripts: ['device-live.js', 'dashboard.js', 'history.js'],
    history: await historyView(web, request, DASHBOARD, { kind: 'all', id: '' }),
    isOneOfSeveral: await isOneOfSeveral(web.services),
    egress: egressNote(web.services.readiness()),
    fleet,
    steps,
    // The first steps say what is wrong with the endpoint.
    wrong: fleet.gateway.filter(({ check }) => steps === null || check !== 'endpoint'),
    strangers: await unknownSendersView(web),
  });
}

/** Saves the address for devices, which the first steps ask for. */
async function saveEndpoint(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const typed = { [ENDPOINT]: textOf(request, ENDPOINT).trim() };
  const locked = fixedSentence(web, ENDPOINT);
  const errors = locked === null ? errorsOf(typed) : { [ENDPOINT]: [locked] };
  return saveForm(web, request, h, {
    refused: Object.keys(errors).length > 0 ? errors : null,
    write: changesSettings(callerOf(request), typed),
    again: (found) => showDashboard(web, request, h, { typed, errors: found }),
    done: () => savedEndpoint(typed[ENDPOINT] ?? ''),
  });
}

/** An address of this host alone is saved, and the first step stays open. */
function savedEndpoint(address: string): Done {
  return endpoint(address).level === 'ok'
    ? { said: 'Files of devices lead there from now on.', to: DASHBOARD }
    : { said: 'It is saved, but no device can use it.', to: DASHBOARD, kind: 'warning' };
}

/** Without an address, files of devices would lead where they lead already. */
function errorsOf(typed: Typed): FormErrors {
  return typed[ENDPOINT] === '' ? { [ENDPOINT]: [messages.blank] } : hostErrors(typed);
}

/** What is said of a gateway that has no TUN and needs none; null: nothing. */
function egressNote({ egress, egress_reason: reason }: Readiness): string | null {
  if (egress !== 'sockets') return null;
  const why = reason === undefined ? '' : `: ${reason}`;
  return `What devices send leaves by sockets of this gateway${why}.`;
}

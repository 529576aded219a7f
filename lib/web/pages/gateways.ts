// The gateways that serve the database, or did, for administrators: which run, which are behind,
// and with which settings each was started. docs/api.md#gateways.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { currentRevision, type Gateway, listGateways } from '../../../models/index.ts';
import {
  egressInWords,
  gatewayHere,
  type GatewaysSeen,
  type GatewayState,
  showGateway,
  stateOf,
} from '../../kit/records/gateways.ts';
import { ALIKE_FIX, readDifferences } from '../../kit/records/gateway-differences.ts';
import { adminPage } from '../kit/route.ts';
import { pageById } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';

const GATEWAYS = '/gateways';

const BADGES: Readonly<Record<GatewayState, 'good' | 'warning' | 'calm'>> = {
  'up to date': 'good',
  behind: 'warning',
  stopped: 'calm',
};
const MEANINGS: Readonly<Record<GatewayState, string>> = {
  'up to date': 'Packets there obey all that is written.',
  behind:
    'It runs, and packets there do not obey the latest changes yet. If that lasts, its log says why.',
  stopped: 'It has said nothing for a minute or longer.',
};

/** The page. */
export function gatewayPages(web: Web): ServerRoute[] {
  return [adminPage('GET', GATEWAYS, (request, h) => showPage(web, request, h))];
}

async function showPage(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, explaining } = web.services;
  const revision = await currentRevision(database);
  const { records, pages } = await pageById(request, GATEWAYS, (afterId, limit) =>
    listGateways(database, { afterId, limit }),
  );
  const here = gatewayHere(web.services);
  const seen = { revision, nowMs: Date.now(), here };
  return web.pages.show(request, h, 'gateways', {
    title: 'Gateways',
    gateways: records.map((row) => ({
      ...gatewayView(row, seen),
      isHere: row.id === explaining?.id,
    })),
    pages,
    differences: await readDifferences(database),
    fix: ALIKE_FIX,
  });
}

function gatewayView(row: Gateway, seen: GatewaysSeen): object {
  const shown = showGateway(row, seen);
  const state = stateOf(shown);
  const settings = Object.entries(shown['settings'] ?? {});
  return {
    ...shown,
    state,
    egress: egressInWords(row.egress),
    badge: BADGES[state],
    meaning: MEANINGS[state],
    settings: settings
      .filter(([, value]) => value !== null && value !== '')
      .map(([name, value]) => ({ name, text: String(value) })),
  };
}

// The gateways that serve the database, or did, for administrators: which run, which are behind,
// and with which settings each was started. docs/api.md#gateways.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  currentRevision,
  type Gateway,
  listGateways,
  readLastBackup,
} from '../../../models/index.ts';
import {
  egressInWords,
  gatewayHere,
  type GatewaysSeen,
  type GatewayState,
  showGateway,
  stateOf,
} from '../../kit/records/gateways.ts';
import {
  ALIKE_FIX,
  differencesOf,
  readDifferences,
  runningOf,
} from '../../kit/records/gateway-differences.ts';
import { adminPage } from '../kit/route.ts';
import { pageById, queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords } from '../kit/words.ts';
import { type LiveCell, liveView, recordList, rowName } from '../parts/live-list.ts';
import { liveRoute } from '../parts/live-routes.ts';

const GATEWAYS = '/gateways';
/** As the alert of docs/guides/monitoring.md says it. */
const BACKUP_IS_OLD_MS = 50 * 3_600_000;

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
  const { database } = web.services;
  const live = recordList({
    cellsOf: async (ids, nowMs) => {
      const revision = await currentRevision(database);
      const rows = await database.models.Gateway.findAll({ where: { id: [...ids] } });
      const seen = { revision, nowMs, here: gatewayHere(web.services) };
      return new Map(rows.map((row) => [row.id, gatewayCells(gatewayView(row, seen))]));
    },
    idsAt: async (request) => (await readPage(web, request)).records.map(({ id }) => id),
  });
  return [
    adminPage('GET', GATEWAYS, (request, h) => showPage(web, request, h)),
    liveRoute(web, GATEWAYS, live),
  ];
}

function readPage({ services }: Web, request: Pick<Request, 'query'>) {
  return pageById(request, GATEWAYS, (afterId, limit) =>
    listGateways(services.database, { afterId, limit }),
  );
}

async function showPage(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, explaining } = web.services;
  const revision = await currentRevision(database);
  const { records, pages } = await readPage(web, request);
  const here = gatewayHere(web.services);
  const seen = { revision, nowMs: Date.now(), here };
  const gateways = records.map((row) => gatewayView(row, seen));
  const after = queryText(request, 'after');
  // Few have more gateways than one page shows: then they are not read once more.
  const isWhole = after === '' && pages.next === null;
  return web.pages.show(request, h, 'gateways', {
    title: 'Gateways',
    scripts: ['live-list.js'],
    gateways: gateways.map((gateway) => ({ ...gateway, isHere: gateway.id === explaining?.id })),
    live: liveView(
      GATEWAYS,
      after === '' ? [] : [['after', after]],
      gateways.map((gateway) => rowName(gateway.id, gatewayCells(gateway))),
    ),
    pages,
    differences: isWhole
      ? differencesOf(runningOf(records, seen.nowMs))
      : await readDifferences(database),
    fix: ALIKE_FIX,
    backup: backupView(
      isWhole ? lastBackupOf(records) : await readLastBackup(database),
      seen.nowMs,
    ),
  });
}

function lastBackupOf(gateways: readonly Gateway[]): Date | null {
  const times = gateways.flatMap(({ last_backup_at: at }) => (at === null ? [] : [Number(at)]));
  return times.length === 0 ? null : new Date(Math.max(...times));
}

function backupView(madeAt: Date | null, nowMs: number): object {
  if (madeAt === null) return { at: null };
  return {
    at: madeAt.toISOString(),
    ago: agoInWords(madeAt, nowMs),
    isOld: nowMs - madeAt.getTime() > BACKUP_IS_OLD_MS,
  };
}

/** State, what it means, and when it was seen last, in the order of the view. */
function gatewayCells(gateway: ReturnType<typeof gatewayView>): LiveCell[] {
  return [
    { badge: gateway.badge, text: gateway.state },
    { text: gateway.meaning },
    { time: gateway.seen_at },
  ];
}

function gatewayView(row: Gateway, seen: GatewaysSeen) {
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

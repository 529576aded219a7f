// The packets from devices of the signed-in person that the gateway blocked, in plain words. Only
// packets that their own devices sent are shown: people may not learn who sends to them.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { actorId } from '../../kit/http/request-caller.ts';
import type { ShownRefusal } from '../../observe/live/fields.ts';
import { liveGateway } from '../../observe/live/gateway.ts';
import { listRefusals } from '../../observe/live/refusals.ts';
import { readElsewhere } from '../../observe/whereabouts.ts';
import { ownDevices } from '../parts/own-devices.ts';
import type { Cell } from '../parts/live-rows.ts';
import { addressCell, isUnasked, serviceInWords } from '../parts/packet-words.ts';
import { page } from '../kit/route.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';

/** Lines of the page. */
const SHOWN_MAX = 100;
/** How many refusals are read to choose the lines: what others sent is left out. */
const READ_MAX = 1_000;

/** The route of the page. */
export function userRefusalPages(web: Web): ServerRoute[] {
  return [page('GET', '/user_refusals', (request, h) => showOwn(web, request, h))];
}

async function showOwn(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const asked = { deviceId: null, userId: actorId(request), reason: null };
  const live = liveGateway(web.services);
  const refusals = await listRefusals(live, asked, READ_MAX);
  // The list is in memory; whose a device is by now, the rows say.
  const own = new Map((await ownDevices(web, request)).map(({ row }) => [row.id, row.name]));
  const sent = refusals.filter(
    ({ direction, device_id: id }) => direction === 'from_device' && own.has(id ?? ''),
  );
  const { false: list = [], true: unasked = [] } = Object.groupBy(sent, (one) =>
    isUnasked(one) ? 'true' : 'false',
  );
  const rowsOf = (ones: readonly ShownRefusal[]): Cell[][] =>
    ones.slice(0, SHOWN_MAX).map((one) => rowOf(one, own));
  const elsewhere = await readElsewhere(web.services.database, live.id, [...own.keys()]);
  return web.pages.show(request, h, 'user-refusals', {
    title: say('blocked.title'),
    elsewhere: [...elsewhere.keys()].map((id) => own.get(id) ?? ''),
    list: rowsOf(list),
    unasked: {
      packets: unasked.reduce((sum, { count }) => sum + count, 0),
      list: rowsOf(unasked),
    },
  });
}

/** The cells of refused packets that are alike; `own` has the names of the person's devices. */
function rowOf(one: ShownRefusal, own: ReadonlyMap<string, string>): Cell[] {
  return [
    { time: one.last_at },
    { text: own.get(one.device_id ?? '') ?? '', href: `/user_devices/${one.device_id}` },
    { ...addressCell(one.destination), help: serviceInWords(one).join('') },
    whyInWords(one),
    String(one.count),
  ];
}

/** Why, as people see it who know no rules. */
function whyInWords({ reason, text }: ShownRefusal): string {
  if (reason === 'rule_drop') return say('blocked.by_rule');
  if (reason === 'default_drop') return say('blocked.by_default');
  return text;
}

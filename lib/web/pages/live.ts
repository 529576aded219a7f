// The live flows of the gateway that serves the page, the flows that have ended there, and the
// packets that it refused lately, for administrators: as `GET /v0/flows`, `GET /v0/ended_flows` and
// `GET /v0/refusals` answer it, with names in place of ids. docs/api.md#live-flows.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { ReasonName } from '../../../dataplane/index.ts';
import { type Database, readRules, readUsers } from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { readCidr } from '../../kit/validation/network.ts';
import type { ShownFlow, ShownRefusal } from '../../observe/live/fields.ts';
import {
  listEndedFlows,
  readEndedCursor,
  writeEndedCursor,
} from '../../observe/live/ended-flows.ts';
import {
  type FlowFilter,
  listBusiest,
  listFlows,
  readFlowCursor,
  writeFlowCursor,
} from '../../observe/live/flows.ts';
import { type DeviceFilter, liveGateway } from '../../observe/live/gateway.ts';
import { listRefusals } from '../../observe/live/refusals.ts';
import { isOfPackets, refusalReasons } from '../../domain/policy/reason-words.ts';
import { adminPage } from '../kit/route.ts';
import { PAGE_RECORDS, queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { ownerIdOf } from '../parts/owners.ts';
import { liveView, type LiveView, rowName } from '../parts/live-list.ts';
import { liveRoute } from '../parts/live-routes.ts';
import {
  BUSIEST_SHOWN,
  busyRow,
  liveFlows,
  liveRefusals,
  REFUSALS_READ,
  REFUSALS_SHOWN,
  refusedRow,
  shownCells,
  type TrafficRow,
} from '../parts/live-traffic.ts';
import { endedFlowRow, flowRow, type Names, namesOf, refusalRow } from '../parts/live-rows.ts';
import { isUnasked } from '../parts/packet-words.ts';
import { plainWords } from '../kit/plain-words.ts';
import { namedDevice, wordForDevice } from '../parts/named-device.ts';
import { ruleInWords } from '../parts/rule-words.ts';

const FLOWS = '/flows';
const ENDED = '/flows/ended';
const REFUSALS = '/refusals';

/** The routes of the pages. */
export function livePages(web: Web): ServerRoute[] {
  const { database } = web.services;
  const gateway = () => liveGateway(web.services);
  return [
    liveRoute(web, FLOWS, liveFlows(database, gateway)),
    liveRoute(web, REFUSALS, liveRefusals(database, gateway)),
    adminPage('GET', FLOWS, (request, h) => showFlows(web, request, h)),
    adminPage('GET', ENDED, (request, h) => showEndedFlows(web, request, h)),
    adminPage('GET', REFUSALS, (request, h) => showRefusals(web, request, h)),
  ];
}

async function showFlows(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const gateway = liveGateway(web.services);
  const from = readFlowCursor(queryText(request, 'cursor'));
  if (from === null) return showBusiest(web, request, h);
  return showList(web, request, h, {
    path: FLOWS,
    view: 'flows',
    title: 'Traffic now',
    list: (filter) => listFlows(gateway, filter, PAGE_RECORDS, from),
    rowOf: flowRow,
    isFirst: false,
    write: writeFlowCursor,
  });
}

/** The flows that carry most, which are live; all flows are in pages, from a cursor on. */
async function showBusiest(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const gateway = liveGateway(web.services);
  const asked = await askedBy(web.services.database, request);
  const { typed, errors, whose, ruleId } = asked;
  const destination = destinationIn(asked);
  const isGood = Object.keys(errors).length === 0;
  const filter = { ...whose, destination, ruleId };
  const flows = isGood ? await listBusiest(gateway, filter, BUSIEST_SHOWN) : [];
  const names = await namesOf(web.services.database, flows);
  const rows = flows.map((flow) => busyRow(flow, names));
  const page = await web.pages.show(request, h, 'flows', {
    title: 'Traffic now',
    scripts: ['live-list.js', 'combobox.js'],
    tabs: tabsOf(FLOWS, asked),
    typed,
    errors,
    rule: await ruleView(web.services.database, ruleId),
    isFiltered: isFiltered(asked),
    all: hrefOf(FLOWS, asked, { cursor: writeFlowCursor({ worker: 0, flow: 1 }) }),
    list: rows.map((row) => shownCells(row)),
    most: BUSIEST_SHOWN,
    live: isGood ? trafficView(FLOWS, { ...filter, reason: null }, rows) : null,
    pages: { previous: null, next: null },
  });
  return isGood ? page : page.code(422);
}

/** What a list is filter to. */
interface TrafficFilter extends DeviceFilter {
  readonly destination?: string | null;
  readonly ruleId?: string | null;
  readonly reason: string | null;
}

/** Where the live values of such a list come from: records are named by their ids. */
function trafficView(path: string, filter: TrafficFilter, rows: readonly TrafficRow[]): LiveView {
  const { deviceId, userId, destination = null, ruleId = null, reason } = filter;
  const all = { device_id: deviceId, user_id: userId, destination, rule_id: ruleId, reason };
  const query = Object.entries(all).flatMap(([name, value]): [string, string][] =>
    value === null ? [] : [[name, value]],
  );
  return liveView(
    path,
    query,
    rows.map(({ key, cells }) => rowName(key, cells)),
  );
}

/** The destination that is asked for; what is none is said. */
function destinationIn({ typed, errors }: Asked): string | null {
  const destination = typed.destination === '' ? null : readCidr(typed.destination);
  if (typed.destination !== '' && destination === null)
    errors.destination = ['Please write an address or a network, such as 10.0.0.0/8'];
  return destination;
}

async function showEndedFlows(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const gateway = liveGateway(web.services);
  const from = readEndedCursor(queryText(request, 'cursor'));
  return showList(web, request, h, {
    path: ENDED,
    view: 'ended-flows',
    title: 'Ended lately',
    list: (filter) => listEndedFlows(gateway, filter, PAGE_RECORDS, from),
    rowOf: endedFlowRow,
    isFirst: from === null,
    write: writeEndedCursor,
  });
}

/** A list of flows, and how it is shown. */
interface FlowPageOf<Flow, Place> {
  readonly path: string;
  readonly view: string;
  readonly title: string;
  readonly list: (
    filter: FlowFilter,
  ) => Promise<{ readonly flows: readonly Flow[]; readonly next: Place | null }>;
  readonly rowOf: (flow: Flow, names: Names) => unknown[];
  readonly isFirst: boolean;
  readonly write: (place: Place) => string;
}

async function showList<Flow extends ShownFlow, Place>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { path, view, title, list, rowOf, isFirst, write }: FlowPageOf<Flow, Place>,
): Promise<ResponseObject> {
  // The gateway may remember a device that is in no list any more.
  const asked = await askedBy(web.services.database, request, path === ENDED);
  const { typed, errors, whose, ruleId } = asked;
  const destination = destinationIn(asked);
  const isGood = Object.keys(errors).length === 0;
  const { flows, next } = isGood
    ? await list({ ...whose, destination, ruleId })
    : { flows: [], next: null };
  const names = await namesOf(web.services.database, flows);
  const page = await web.pages.show(request, h, view, {
    title,
    scripts: ['combobox.js'],
    tabs: tabsOf(path, asked),
    typed,
    errors,
    rule: await ruleView(web.services.database, ruleId),
    isFiltered: isFiltered(asked),
    all: null,
    list: flows.map((flow) => rowOf(flow, names)),
    live: null,
    pages: {
      previous: isFirst ? null : hrefOf(path, asked),
      next: next === null ? null : hrefOf(path, asked, { cursor: write(next) }),
    },
  });
  return isGood ? page : page.code(422);
}

async function showRefusals(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const gateway = liveGateway(web.services);
  const asked = await askedBy(web.services.database, request);
  const { typed, errors, whose } = asked;
  const reason = refusalReasons.find((name) => name === typed.reason) ?? null;
  if (typed.reason !== '' && reason === null) errors.reason = ['There is no such reason'];
  const isGood = Object.keys(errors).length === 0;
  const all = isGood ? await listRefusals(gateway, { ...whose, reason }, REFUSALS_READ) : [];
  // Whoever asks for a reason asks for all of it.
  const isFolded = (one: ShownRefusal): boolean => reason === null && isUnasked(one);
  const unasked = all.filter((one) => isFolded(one));
  const folded = unasked.slice(0, REFUSALS_SHOWN);
  const list = all.filter((one) => !isFolded(one)).slice(0, REFUSALS_SHOWN);
  const names = await namesOf(web.services.database, [...list, ...folded]);
  const rows = list.map((one) => refusedRow(one, names));
  const page = await web.pages.show(request, h, 'refusals', {
    title: 'Refused lately',
    tabs: tabsOf(REFUSALS, asked),
    typed,
    errors,
    reasons: reasonChoices(reason),
    isFiltered: isFiltered(asked),
    scripts: ['live-list.js', 'combobox.js'],
    list: rows.map((row) => shownCells(row)),
    live: isGood ? trafficView(REFUSALS, { ...whose, reason }, rows) : null,
    unasked: {
      packets: unasked.reduce((sum, { count }) => sum + count, 0),
      list: folded.map((one) => refusalRow(one, names)),
    },
    most: list.length === REFUSALS_SHOWN ? REFUSALS_SHOWN : null,
  });
  return isGood ? page : page.code(422);
}

/** Reasons for which packets inside the tunnel are refused; a chosen one is offered in any case. */
function reasonChoices(chosen: ReasonName | null): [string, string][] {
  const offered = refusalReasons.filter((name) => isOfPackets(name) || name === chosen);
  return [
    ['', 'any'],
    ...offered.map((name): [string, string] => [name, name.replaceAll('_', ' ')]),
  ];
}

// ---- what is asked -----------------------------------------------------------------------------

/** What is asked, as it was typed, and what it means. */
interface Asked {
  readonly typed: Readonly<Record<'device' | 'user' | 'destination' | 'reason', string>>;
  readonly whose: { readonly deviceId: string | null; readonly userId: string | null };
  readonly ruleId: string | null;
  readonly errors: Record<string, string[]> & { destination?: string[]; reason?: string[] };
}

/** `isGoneKnown`: a device that was deleted can be named by its id. */
async function askedBy(database: Database, request: Request, isGoneKnown = false): Promise<Asked> {
  const [word, deviceId, email, userId, rule] = [
    'device',
    'device_id',
    'user',
    'user_id',
    'rule_id',
  ].map((name) => queryText(request, name)) as [string, string, string, string, string];
  const errors: Asked['errors'] = {};
  const named = word || deviceId;
  const device = named === '' ? null : await namedDevice(database, named);
  const gone = isGoneKnown && isUuid(named) ? named.toLowerCase() : null;
  const id = device?.id ?? gone;
  if (device !== null && id === null)
    errors['device'] = [
      plainWords(device.error ?? { code: 'noDeviceCalled', values: { name: named } }),
    ];
  if (rule !== '' && !isUuid(rule)) errors['rule'] = [`There is no rule with the id “${rule}”`];
  const user = await userNamed(database, email, userId);
  if (typeof user === 'string') errors['user'] = [user];
  return {
    typed: {
      device: word || (await wordForDevice(database, deviceId)),
      user: email || (typeof user === 'object' && user !== null ? user.email : userId),
      destination: queryText(request, 'destination'),
      reason: queryText(request, 'reason'),
    },
    whose: {
      deviceId: id,
      userId: typeof user === 'object' && user !== null ? user.id : null,
    },
    ruleId: isUuid(rule) ? rule.toLowerCase() : null,
    errors,
  };
}

async function userNamed(
  database: Database,
  email: string,
  id: string,
): Promise<{ id: string; email: string } | string | null> {
  if (email === '' && id === '') return null;
  const wanted = email === '' ? id : await ownerIdOf(database, email);
  const [user] = isUuid(wanted) ? await readUsers(database, { ids: [wanted.toLowerCase()] }) : [];
  return user ?? `No user has the e-mail “${email || id}”`;
}

function isFiltered({ typed, ruleId }: Asked): boolean {
  return ruleId !== null || Object.values(typed).some((text) => text !== '');
}

/** The address of a page with the filters that all pages have, and further values. */
function hrefOf(path: string, { typed, ruleId }: Asked, further: object = {}): string {
  const { device, user } = typed;
  const own =
    path !== REFUSALS
      ? { destination: typed.destination, rule_id: ruleId ?? '' }
      : { reason: typed.reason };
  const all = Object.entries({ device, user, ...own, ...further }) as [string, string][];
  const query = new URLSearchParams(all.filter(([, value]) => value !== '')).toString();
  return query === '' ? path : `${path}?${query}`;
}

function tabsOf(path: string, asked: Asked): object[] {
  return [
    { href: hrefOf(FLOWS, asked), label: 'Traffic now', isCurrent: path === FLOWS },
    { href: hrefOf(ENDED, asked), label: 'Ended lately', isCurrent: path === ENDED },
    { href: hrefOf(REFUSALS, asked), label: 'Refused lately', isCurrent: path === REFUSALS },
  ];
}

async function ruleView(database: Database, id: string | null): Promise<object | null> {
  if (id === null) return null;
  const [rule] = await readRules(database, { ids: [id] });
  return { href: `/rules/${id}`, text: rule === undefined ? id : ruleInWords(rule) };
}

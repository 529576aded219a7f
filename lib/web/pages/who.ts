// The page “Who may reach it?”, for administrators: the people whose packets to an address pass, by
// which rule, and in another list those whose packets do not. It asks as `GET /v0/who_may_reach`
// does, and changes nothing. docs/api.md#who-may-reach-an-address.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { readRules } from '../../../models/index.ts';
import type { Decided } from '../../observe/explain/services.ts';
import {
  isReaching,
  type PersonReaching,
  type Reaching,
  type WhoAsked,
} from '../../observe/explain/who.ts';
import {
  reasonForAll,
  showPerson,
  type ShownPerson,
  type ShownService,
} from '../../observe/explain/who-fields.ts';
import { askWho, readWho, validateWho } from '../../observe/explain/who-operations.ts';
import { reasonInWords } from '../../domain/policy/reason-words.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { type Errors, hasNoErrors } from '../../kit/validation/validate.ts';
import { formView, type Section, type Typed } from '../kit/form.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { adminPage } from '../kit/route.ts';
import { PAGE_RECORDS, queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { counted } from '../kit/words.ts';
import { addressesOf, namedDevice, OFFERED_DEVICES } from '../parts/named-device.ts';
import { ownersOfRules } from '../parts/owners.ts';
import { protocolInWords } from '../parts/packet-words.ts';
import { ruleLink } from '../parts/rule-words.ts';
import { serviceErrors, serviceFields } from '../parts/service-fields.ts';

const WHO = '/explain/who';

const whoForm: readonly Section[] = [
  {
    fields: [
      { name: 'destination', label: 'To', isRequired: true, combobox: OFFERED_DEVICES },
      ...serviceFields.map(({ help: _help, choices, ...field }) => ({
        ...field,
        ...(choices === undefined ? {} : { choices: [['', 'Any'] as const, ...choices] }),
      })),
    ],
  },
];

type RuleLink = ReturnType<typeof ruleLink>;

/** The page. */
export function whoPages(web: Web): ServerRoute[] {
  return [adminPage('GET', WHO, (request, h) => showPage(web, request, h))];
}

/** Where it is asked who may reach an address. */
export function whoHref(destination: string): string {
  return `${WHO}?${new URLSearchParams({ destination }).toString()}`;
}

async function showPage(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const typed = Object.fromEntries(
    ['destination', 'protocol', 'port'].map((name) => [name, queryText(request, name)]),
  );
  const { answer, errors } =
    typed['destination'] === ''
      ? { answer: null, errors: {} }
      : await answerOf(web, callerOf(request), typed);
  const form = formView(whoForm, typed, {
    action: WHO,
    submit: 'Ask',
    errors: serviceErrors(errors),
  });
  const page = await web.pages.show(request, h, 'who', {
    title: 'Who may reach it?',
    scripts: ['combobox.js'],
    tabs: explainTabs(WHO),
    form,
    answer:
      answer &&
      (await answerView(web, answer, {
        typed,
        isOthers: queryText(request, 'others') !== '',
        page: Number(queryText(request, 'page')),
      })),
  });
  return hasNoErrors(errors) ? page : page.code(422);
}

/** The two questions about packets, as tabs. */
export function explainTabs(current: string) {
  return [
    { href: '/explain', label: 'One packet', isCurrent: current !== WHO },
    { href: WHO, label: 'Who may reach it?', isCurrent: current === WHO },
  ];
}

interface Found {
  readonly asked: WhoAsked;
  readonly reaching: Reaching;
}

async function answerOf(
  web: Web,
  caller: Caller,
  typed: Typed,
): Promise<{ readonly answer: Found | null; readonly errors: FormErrors }> {
  const { database } = web.services;
  const { destination = '', ...service } = typed;
  const named = await namedDevice(database, destination);
  if (named.error !== null) return { answer: null, errors: { destination: [named.error] } };
  const device =
    named.isAddress || named.id === null ? null : await database.models.Device.findByPk(named.id);
  const [address = destination] = device === null ? [] : addressesOf(device);
  const sent = Object.entries(service).filter(([, value]) => value !== '');
  const { values, errors } = validateWho(Object.fromEntries(sent), 'update');
  const read = readWho({ ...values, destination: address });
  const all: Errors = { ...read.errors, ...errors };
  if (read.asked === null || !hasNoErrors(all)) return { answer: null, errors: all };
  try {
    const reaching = await askWho(web.rooms.whoQuestions, caller, read.asked);
    return { answer: { asked: read.asked, reaching }, errors: {} };
  } catch (error) {
    if (!(error instanceof ApiError) || error.errors === null) throw error;
    return { answer: null, errors: { port: [TOO_MANY] } };
  }
}

const TOO_MANY = 'The rules name too many ports for one answer. Please give a port';

/** Rules by their ids. */
async function linkedRules(
  { services: { database } }: Web,
  named: readonly (string | null)[],
): Promise<ReadonlyMap<string, RuleLink>> {
  const ids = [...new Set(named.filter((id) => id !== null))];
  const rules = ids.length === 0 ? [] : await readRules(database, { ids });
  const owners = await ownersOfRules(database, rules);
  return new Map(rules.map((rule) => [rule.id, ruleLink(rule, owners)]));
}

// ---- what is shown -----------------------------------------------------------------------------

interface Wished {
  readonly typed: Typed;
  /** Whether those are shown who may not. */
  readonly isOthers: boolean;
  readonly page: number;
}

async function answerView(
  web: Web,
  { asked: { destination }, reaching }: Found,
  { typed, isOthers, page }: Wished,
) {
  const reason = reasonForAll(reaching);
  const { receiver, people } = reaching;
  const { may = [], others = [] } = Object.groupBy(people, (person) =>
    reason === null && isReaching(person) ? 'may' : 'others',
  );
  const shown = isOthers ? others : may;
  const last = Math.max(1, Math.ceil(shown.length / PAGE_RECORDS));
  const at = Number.isSafeInteger(page) ? Math.min(Math.max(page, 1), last) : 1;
  const onPage = shown.slice((at - 1) * PAGE_RECORDS, at * PAGE_RECORDS);
  const turned = (to: number, isOther = isOthers): string =>
    `${WHO}?${new URLSearchParams({
      ...Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== '')),
      ...(isOther ? { others: 'true' } : {}),
      ...(to === 1 ? {} : { page: String(to) }),
    }).toString()}`;
  const port = typed['port'] ?? '';
  const protocol = typed['protocol'] ?? '';
  const service = protocol === '' ? '' : `, ${protocolInWords(protocol)} ${port}`.trimEnd();
  return {
    what: destination + service,
    receiver: receiver && { id: receiver.id, name: receiver.name },
    reason: reason === null ? null : reasonInWords(reason),
    may: counted(may.length, 'person', 'people'),
    others: others.length,
    isOthers,
    turn: turned(1, !isOthers),
    list: isOthers ? await otherRows(web, onPage) : await rowsOf(web, onPage),
    pages: {
      previous: at > 1 ? turned(at - 1) : null,
      next: at < last ? turned(at + 1) : null,
    },
  };
}

async function rowsOf(web: Web, people: readonly PersonReaching[]) {
  const shown = people.map(showPerson);
  const named = shown.flatMap(({ services }) => services.map(({ rule_id: id }) => id));
  const rules = await linkedRules(web, named);
  return shown.map((person) => row(person, rules));
}

function row(
  {
    user_id: id,
    email,
    name,
    devices,
    other_device_count: others,
    services,
    services_left_out: more,
  }: ShownPerson,
  rules: ReadonlyMap<string, RuleLink>,
) {
  return {
    id,
    email,
    name,
    // Where all devices of a person may, nobody needs their names.
    devices: others === 0 ? [] : devices,
    otherDevices: others,
    services: services.map((service) => ({
      text: serviceText(service),
      rule: rules.get(service.rule_id ?? '') ?? null,
    })),
    more,
  };
}

function serviceText({ protocol, port_range: ports }: ShownService): string {
  if (protocol === null) return 'Everything';
  if (protocol === 'other') return 'Other protocols';
  const name = protocolInWords(protocol);
  if (ports !== null) return `${name} ${ports}`;
  return protocol === 'tcp' || protocol === 'udp' ? `${name}, all ports` : name;
}

/** Those who may not, and why; of several services the first one says it. */
async function otherRows(web: Web, people: readonly PersonReaching[]) {
  const rules = await linkedRules(
    web,
    people.map(({ reach }) => reach.first?.rule ?? null),
  );
  return people.map(({ user, devices, otherDevices, reach }) => ({
    id: user.id,
    email: user.email,
    name: user.name,
    why: devices.length > 0 ? refusalText(reach.first) : noDevice(otherDevices),
    rule: devices.length > 0 ? (rules.get(reach.first?.rule ?? '') ?? null) : null,
  }));
}

function refusalText(first: Decided | null): string {
  if (first?.reason === 'rule_drop') return 'Dropped by';
  if (first === null || first.reason === 'none') return 'Nobody has this address';
  return reasonInWords(first.reason);
}

function noDevice(others: number): string {
  if (others === 0) return 'Has no device';
  return 'No device that may connect has an address of this kind';
}

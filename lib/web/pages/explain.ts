// The page “Would it pass?”, for administrators: what becomes of a packet, and why. It asks as
// `POST /v0/explain` does, and changes nothing. docs/api.md#what-becomes-of-a-packet.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type Database, readRules, type RuleRow } from '../../../models/index.ts';
import { explain } from '../../observe/explain/explain.ts';
import type { Answer } from '../../observe/explain/fields.ts';
import {
  type AskedPacket,
  readQuestion,
  validateQuestion,
} from '../../observe/explain/question.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { formView, type Section, type Typed } from '../kit/form.ts';
import { adminPage } from '../kit/route.ts';
import { queryText, SEARCH_CHARACTERS_MAX } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import {
  namedDevice,
  OFFERED_DEVICES,
  offeredDevices,
  wordForDevice,
} from '../parts/named-device.ts';
import { ownersOfRules } from '../parts/owners.ts';
import { acceptHref, protocolInWords, serviceInWords } from '../parts/packet-words.ts';
import { serviceErrors, serviceFields } from '../parts/service-fields.ts';
import { ruleLink } from '../parts/rule-words.ts';
import { explainTabs } from './who.ts';

const EXPLAIN = '/explain';
const NO_DEVICE = 'Only a device has hosts behind it. “From” is no device.';

const questionForm: readonly Section[] = [
  {
    fields: [
      {
        name: 'from',
        label: 'From',
        isRequired: true,
        combobox: OFFERED_DEVICES,
      },
      { name: 'destination', label: 'To', isRequired: true, combobox: OFFERED_DEVICES },
      ...serviceFields.map(({ help: _help, ...field }) => field),
    ],
  },
  {
    fields: [
      {
        name: 'source',
        label: 'Host behind the device',
        help: 'Its address, where a host in a network behind the device sends the packet. Leave it empty for the device itself.',
      },
      {
        name: 'size',
        label: 'Size',
        kind: 'number',
        help: 'Size of the packet in bytes, with its headers, such as 1400, if the question is whether it fits. Such a packet may not be fragmented.',
      },
    ],
  },
];

/** The page. */
export function explainPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', EXPLAIN, (request, h) => showPage(web, request, h)),
    adminPage('GET', OFFERED_DEVICES, async (request, h) => {
      const text = queryText(request, 'q').slice(0, SEARCH_CHARACTERS_MAX);
      return h.response({ offers: await offeredDevices(web.services.database, text) });
    }),
  ];
}

async function showPage(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const typed = await typedBy(web.services.database, request);
  const isAsked = typed['from'] !== '' && typed['destination'] !== '';
  const { asked, errors } = isAsked
    ? await questionOf(web.services.database, typed)
    : { asked: null, errors: {} };
  const answer = asked === null ? null : await explain(web.services, web.recall, asked);
  const page = await web.pages.show(request, h, 'explain', {
    title: 'Would it pass?',
    scripts: ['combobox.js'],
    tabs: explainTabs(EXPLAIN),
    form: formView(formFor(typed), typed, {
      action: EXPLAIN,
      submit: 'Ask',
      errors: serviceErrors(errors),
    }),
    asked: asked === null ? null : askedView(asked),
    answer: asked && answer && (await answerView(web.services.database, answer, asked)),
  });
  return Object.keys(errors).length > 0 ? page.code(422) : page;
}

/** The form; a protocol by number comes from a link and can be chosen then. */
function formFor({ protocol = '' }: Typed): readonly Section[] {
  if (!/^\d+$/.test(protocol)) return questionForm;
  return questionForm.map(({ fields, ...section }) => ({
    ...section,
    fields: fields.map((field) =>
      field.name === 'protocol'
        ? { ...field, choices: [...(field.choices ?? []), [protocol, protocolInWords(protocol)]] }
        : field,
    ),
  }));
}

/** What is in the fields: what was typed, or what a link of another page says. */
async function typedBy(database: Database, request: Request): Promise<Typed> {
  const [from, id, source] = ['from', 'device_id', 'source'].map((name) =>
    queryText(request, name),
  ) as [string, string, string];
  const sender = from || (await wordForDevice(database, id));
  return {
    from: sender || source,
    source: sender === '' || sender === source ? '' : source,
    destination: queryText(request, 'destination'),
    protocol: queryText(request, 'protocol') || 'tcp',
    port: queryText(request, 'port'),
    size: queryText(request, 'size'),
  };
}

interface Asking {
  readonly asked: AskedPacket | null;
  readonly errors: FormErrors;
}

async function questionOf(database: Database, typed: Typed): Promise<Asking> {
  const { from = '', source = '', destination = '', protocol = '', port = '', size = '' } = typed;
  const [sender, receiver] = [
    await namedDevice(database, from),
    await namedDevice(database, destination),
  ];
  const isBehindHost = sender.id === null && sender.error === null && source !== '';
  const error = {
    ...(sender.error === null ? {} : { from: [sender.error] }),
    ...(isBehindHost ? { source: [NO_DEVICE] } : {}),
    ...(receiver.error === null ? {} : { destination: [receiver.error] }),
  };
  if (Object.keys(error).length > 0) return { asked: null, errors: error };
  const input = {
    ...(sender.id === null ? { source: from } : { device_id: sender.id }),
    ...(source === '' ? {} : { source }),
    destination: receiver.isAddress ? destination : (receiver.id ?? destination),
    protocol,
    ...(port === '' ? {} : { port }),
    ...(size === '' ? {} : { size }),
  };
  const { asked, errors } = await readQuestion(database, validateQuestion(input, 'create'));
  const ofSender = sender.id === null ? ['device_id', 'source'] : ['device_id'];
  const named = Object.entries(errors).map(
    ([name, texts]) => [ofSender.includes(name) ? 'from' : name, texts] as const,
  );
  return { asked, errors: Object.fromEntries(named) };
}

// ---- what is shown -----------------------------------------------------------------------------

/** The packet in words. */
function askedView({ device, isSent, source, destination, protocol, port }: AskedPacket): object {
  const [service] = serviceInWords({ protocol, port });
  return { device: { id: device.id, name: device.name }, isSent, source, destination, service };
}

async function answerView(database: Database, answer: Answer, asked: AskedPacket): Promise<object> {
  const { verdict, text, advice, reason, rule_id: ruleId, shadowed, gates } = answer;
  const ids = [ruleId, answer.staged_rule_id, ...shadowed].filter((id) => id !== null);
  const rules = ids.length === 0 ? [] : await readRules(database, { ids });
  const owners = await ownersOfRules(database, rules);
  const linked = (rule: RuleRow) => ruleLink(rule, owners);
  const decider = rules.find(({ id }) => id === ruleId);
  const staged = rules.find(({ id }) => id === answer.staged_rule_id);
  const isByRule =
    reason === 'rule_drop' || (verdict === 'accept' && answer.waits_for.length === 0);
  const { device, ...packet } = asked;
  return {
    passes: verdict === 'accept',
    title: titleOf(answer),
    isByRule: isByRule && decider !== undefined,
    accept: acceptHref({ ...packet, deviceId: device.id, reason }),
    badge: badgeOf(answer),
    text,
    advice,
    reason,
    handshake: answer.latest_handshake,
    rule: decider === undefined ? null : linked(decider),
    staged: staged === undefined ? null : linked(staged),
    others: rules.filter(({ id }) => shadowed.includes(id)).map(linked),
    host: answer.host,
    gates: gates.map((gate) => ({ text: gate.text, ...GATE_BADGES[gate.outcome] })),
    ...countedGates(gates),
  };
}

const GATE_BADGES = {
  passed: { badge: 'good', word: 'Passed' },
  waits: { badge: 'warning', word: 'Waits' },
  refused: { badge: 'bad', word: 'Refused' },
  not_reached: { badge: '', word: '' },
} as const;

/** How many gates there are behind which outcome, in one sentence. */
function countedGates(gates: Answer['gates']): { counted: string; notReached: number } {
  const count = (outcome: keyof typeof GATE_BADGES): number =>
    gates.filter((gate) => gate.outcome === outcome).length;
  const [waits, refused, notReached] = [count('waits'), count('refused'), count('not_reached')];
  const others = [
    ...(waits > 0 ? [`${waits} where it waits`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(notReached > 0 ? [`${notReached} not reached`] : []),
  ];
  return { counted: [`${count('passed')} passed`, ...others].join(', '), notReached };
}

function titleOf({ verdict, waits_for: waitsFor }: Answer): string {
  if (verdict === 'drop') return 'It does not pass';
  return waitsFor.length === 0 ? 'It passes' : 'It has to wait';
}

function badgeOf({ verdict, waits_for: waitsFor }: Answer): string {
  if (verdict === 'drop') return 'bad';
  return waitsFor.length === 0 ? 'good' : 'warning';
}

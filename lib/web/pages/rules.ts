// Rules, for administrators: the table with their hits, the forms that make and change one, and
// which other rules a typed rule would meet. docs/api.md#rules.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { RuleSample } from '../../../dataplane/index.ts';
import { type Database, readRules, readShadows, type RuleRow } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { hasCode, type Validated } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import {
  type Rules,
  ruleState,
  type RuleState,
  type RuleValues,
  showRule,
  validateRule,
} from '../../domain/rules/rules.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { meaningOf, meantNetwork } from '../../domain/rules/meaning.ts';
import { quotedErrors } from '../kit/entry-words.ts';
import { formView, textOfValue, type Typed, typedIn } from '../kit/form.ts';
import { textOf } from '../kit/form-token.ts';
import { jobRoute, manyRoute } from '../kit/many.ts';
import { type EffectView, effectView, mayTry, untilMayTry } from '../parts/effect.ts';
import { historyView } from '../parts/history-view.ts';
import { ownersOfRules } from '../parts/owners.ts';
import { type Draft, draftIn } from '../parts/rule-drafts.ts';
import { barChanges, menuItems, menuKind, ruleChange } from '../parts/rule-changes.ts';
import { presentRule, ruleForm, ruleRecord } from '../parts/rule-form.ts';
import { meetingsOf } from '../parts/rule-meets.ts';
import { whoseErrors } from '../parts/rule-whose.ts';
import { portsOf, ruleInWords, whoseRule } from '../parts/rule-words.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import { askedIn, everyOf, findPage, menuOf, sendFile, type TablePlan } from '../kit/table-page.ts';
import { CHANGED_MEANWHILE, changedMeanwhile, seenOf } from '../kit/seen.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords, bytesInWords, utcInWords } from '../kit/words.ts';

const RULES = '/rules';

const plan: TablePlan = {
  table: 'rules',
  path: RULES,
  states: {
    accept: 'Accept',
    drop: 'Drop',
    disabled: 'Disabled',
    waiting: 'Not yet begun',
    staged: 'Staged',
    over: 'Over',
    everyone: 'For everyone',
    one_user: 'For one user',
    one_group: 'For a group',
  },
};

const NO_PROTOCOL = 'Please choose TCP or UDP to use ports, or leave “Ports” empty';
const NO_PORTS = 'ICMP has no ports: please leave “Ports” empty';

const FILE_HEAD = [
  'id',
  'action',
  'destination',
  'protocol',
  'ports',
  'user',
  'added_at',
  'description',
  'enabled',
  'enforced',
  'starts_at',
  'ends_at',
];

/** The routes of the rules. */
export function rulePages(web: Web): ServerRoute[] {
  const { rules } = web.rooms;
  return [
    adminPage('GET', RULES, (request, h) => showRules(web, request, h)),
    adminPage('GET', `${RULES}.csv`, (request, h) =>
      sendFile(h, 'rules', web.services.database, plan, askedIn(request, plan), FILE_HEAD, (ids) =>
        fileLines(web, ids),
      ),
    ),
    jobRoute(web, RULES),
    manyRoute(web, {
      table: 'rules',
      path: RULES,
      nouns: ['rule', 'rules'],
      names: async (ids) => {
        const found = await readRules(web.services.database, { ids: [...ids] });
        return new Map(found.map((rule) => [rule.id, ruleInWords(rule)]));
      },
      change: ruleChange,
      effect: effectView,
    }),
    adminPage('GET', `${RULES}/new`, async (request, h) => {
      const draft = await draftIn(web, request);
      return showForm(web, request, h, { rules, id: null, present: null, ...draft });
    }),
    adminPage('POST', `${RULES}/new`, (request, h) => save(web, rules, null, request, h)),
    adminPage('GET', `${RULES}/{id}`, async (request, h) => {
      const id = idOf(request);
      const present = await presentRule(web, id);
      return showForm(web, request, h, { rules, id, present, typed: present });
    }),
    adminPage('POST', `${RULES}/{id}`, (request, h) => save(web, rules, idOf(request), request, h)),
    adminPage('POST', `${RULES}/{id}/delete`, (request, h) => {
      const id = idOf(request);
      return act(web, request, h, {
        asked: 'Delete the rule',
        write: performs(callerOf(request), 'deleteRule', { params: { id } }),
        back: `${RULES}/${id}`,
        to: RULES,
        done: () => 'The rule is deleted.',
      });
    }),
  ];
}

async function showRules(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, observed } = web.services;
  const found = await findPage(database, request, plan);
  const rules = inOrder(found.ids, await readRules(database, { ids: [...found.ids] }));
  const owners = await ownersOfRules(database, rules);
  const shadows = await readShadowRules(database, found.ids);
  const hits = observed?.rules();
  return web.pages.show(request, h, 'rules', {
    title: 'Rules',
    finder: found.view,
    list: rules.map((rule) =>
      ruleCells(rule, owners, { hit: hits?.get(rule.id), shadow: shadows.get(rule.id) }),
    ),
    headings: headingsOf(rules, found.view.sort),
    isEnd: found.view.isEnd,
    otherwise: await otherwise(web),
    hasHits: observed !== undefined,
    many: {
      action: `${RULES}/many`,
      back: found.view.here,
      every: everyOf(found, 'rules'),
      changes: barChanges,
    },
    ids: rules.map(({ id }) => id),
    menu: menuOf(request, plan, found.view, menuItems),
    kinds: rules.map(menuKind),
  });
}

/** Which rules are asked first, then, and last: dataplane/filter asks them in this order. */
const SCOPES = {
  user: 'Of one user: asked first',
  group: 'Of groups: asked where no rule of the user decides',
  everyone: 'For everyone: asked last',
} as const;

/** The heading where the rules of another scope begin; none where a column sorts the list. */
function headingsOf(rules: readonly RuleRow[], sort: string): (string | null)[] {
  if (sort !== '') return [];
  return rules.map((rule, i) => {
    const before = rules[i - 1];
    const scope = scopeOf(rule);
    return before !== undefined && scopeOf(before) === scope ? null : SCOPES[scope];
  });
}

function scopeOf({ user_id, group_id }: RuleRow): keyof typeof SCOPES {
  if (user_id !== null) return 'user';
  return group_id === null ? 'everyone' : 'group';
}

function ruleCells(
  rule: RuleRow,
  owners: ReadonlyMap<string, string>,
  { hit, shadow }: { hit: RuleSample | undefined; shadow: RuleRow | undefined },
): unknown[] {
  const { text, dot } = actionOf(rule);
  return [
    {
      text: rule.destination,
      href: `${RULES}/${rule.id}`,
      dot,
      below: notesOn(rule, shadow),
    },
    { text, narrow: portsOf(rule) },
    portsOf(rule) ?? 'all',
    whoseRule(rule, owners),
    hit === undefined
      ? '0'
      : { text: hit.packets.toLocaleString('en'), help: bytesInWords(hit.bytes) },
    hit === undefined
      ? 'never'
      : {
          time: new Date(hit.lastHitMs).toISOString(),
          ago: agoInWords(new Date(hit.lastHitMs), Date.now()),
        },
  ];
}

const STATES: Readonly<Record<Exclude<RuleState, 'enabled'>, string>> = {
  disabled: 'disabled',
  waiting: 'not yet',
  staged: 'staged',
  over: 'over',
};

function actionOf(rule: RuleRow): { readonly text: string; readonly dot: string } {
  const text = rule.action === 'accept' ? 'Accept' : 'Drop';
  const state = ruleState(rule, Date.now());
  const isStaged = state === 'waiting' && !rule.enforced;
  const staged = isStaged ? `, ${STATES.staged}` : '';
  if (state !== 'enabled') return { text: `${text}, ${STATES[state]}${staged}`, dot: 'calm' };
  return { text, dot: rule.action === 'accept' ? 'good' : 'bad' };
}

async function fileLines(web: Web, ids: readonly string[]): Promise<(string | null)[][]> {
  const { database } = web.services;
  const rules = inOrder(ids, await readRules(database, { ids: [...ids] }));
  const owners = await ownersOfRules(database, rules);
  return rules.map((rule) => [
    rule.id,
    rule.action,
    rule.destination,
    rule.port_type ?? rule.protocol ?? 'all',
    rule.port_type === null ? null : textOfValue(showRule(rule).port_range),
    whoseRule(rule, owners),
    rule.inserted_at.toISOString(),
    rule.description,
    String(rule.enabled),
    String(rule.enforced),
    rule.starts_at?.toISOString() ?? null,
    rule.ends_at?.toISOString() ?? null,
  ]);
}

interface Form {
  readonly rules: Rules;
  /** Null for a new one. */
  readonly id: string | null;
  /** The rule as it is now. */
  readonly present: Typed | null;
  readonly typed: Typed;
  readonly errors?: FormErrors;
  /** What was typed, for the rules that it meets. */
  readonly input?: Validated<RuleValues>;
  readonly isChecked?: boolean;
  /** Whom a rule could be for that accepts a refused packet. */
  readonly offer?: Draft['offer'];
  /** What the write would end; null: nothing. Left out: it was not asked. */
  readonly effect?: EffectView | null;
}

async function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { rules, id, present, typed, errors = {}, input, isChecked = false, ...more }: Form,
): Promise<ResponseObject> {
  const { database } = web.services;
  const asked =
    input ?? validateRule(await ruleRecord(database, typed), id === null ? 'create' : 'update');
  const touching = await rules.touching(asked, id);
  const meetings = await meetingsOf(database, touching);
  const rivals = meetings.find((meeting) => meeting.id === 'rivals')?.rules ?? [];
  const hit = id === null ? undefined : web.services.observed?.rules().get(id);
  return web.pages.show(request, h, 'rule', {
    title: id === null ? 'Add a rule' : 'Change a rule',
    scripts: ['history.js', 'combobox.js', 'rule.js'],
    offer: more.offer ?? null,
    effect: more.effect ?? null,
    isEffectAsked: more.effect !== undefined,
    history:
      id === null ? null : await historyView(web, request, `${RULES}/${id}`, { kind: 'rule', id }),
    ruleId: id,
    isStaged: present?.['staged'] === 'true',
    explain: id === null ? null : explainPath(typed),
    meetings,
    otherwise: await otherwise(web),
    isChecked,
    meaning: errors['destination'] === undefined ? meaningOf(asked.values.destination ?? '') : null,
    hits:
      hit === undefined
        ? null
        : {
            packets: hit.packets.toLocaleString('en'),
            bytes: bytesInWords(hit.bytes),
            last: new Date(hit.lastHitMs).toISOString(),
          },
    form: formView(ruleForm, typed, {
      action: id === null ? `${RULES}/new` : `${RULES}/${id}`,
      submit: id === null ? 'Add the rule' : 'Save',
      cancel: RULES,
      ...(present === null ? {} : { seen: seenOf(present) }),
      errors: ruleErrors(errors, typed),
      links: hasCode(errors['destination'], 'overlap') ? { destination: rivals } : {},
    }),
    others: [
      { name: 'do', value: 'check', label: 'Check' },
      // Among the errors of no field, a person can only insist against failing policy tests.
      ...((errors['base'] ?? [CHANGED_MEANWHILE]).some((one) => one === CHANGED_MEANWHILE)
        ? []
        : [{ name: 'do', value: 'force', label: 'Save it anyway' }]),
    ],
  });
}

/** The page that explains what becomes of a packet to which a rule applies. */
function explainPath({
  destination = '',
  port_type: protocol,
  port_range: range = '',
}: Typed): string {
  const [address = ''] = destination.split('/');
  const [port = ''] = range.split(/[\s-]+/);
  const query = new URLSearchParams({ destination: address, protocol: protocol || 'icmp', port });
  return `/explain?${query.toString()}`;
}

async function save(
  web: Web,
  rules: Rules,
  id: string | null,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const isCheck = textOf(request, 'do') === 'check';
  if (!isCheck) await untilMayTry(web, request);
  const typed = typedIn(request, ruleForm);
  const present = id === null ? null : await presentRule(web, id);
  const form = { rules, id, present, typed };
  // The form of an earlier version has a user and a group: without them the rule were everyone's.
  const isOld = ['user_id', 'group_id'].some((name) => textOf(request, name) !== '');
  const meanwhile = isOld
    ? { whose: ['must be chosen again: this page is from before an update'] }
    : present === null
      ? null
      : changedMeanwhile(request, { typed, present }, ruleForm);
  const record = await ruleRecord(web.services.database, typed);
  const input = validateRule(record, id === null ? 'create' : 'update');
  const sending = {
    record,
    ...(textOf(request, 'do') === 'force' && { query: { force: 'true' } }),
  };
  const write =
    id === null
      ? performs(callerOf(request), 'createRule', sending)
      : performs(callerOf(request), 'updateRule', { ...sending, params: { id } });
  if (meanwhile === null && isCheck) {
    const { errors } = input;
    const effect = mayTry(request) ? { effect: await effectView(web, [write]) } : {};
    return showForm(web, request, h, { ...form, errors, input, isChecked: true, ...effect });
  }
  return saveForm(web, request, h, {
    refused: meanwhile,
    asked: {
      label: 'Save the rule',
      back: id === null ? RULES : `${RULES}/${id}`,
      isForm: true,
    },
    write,
    again: (errors) => showForm(web, request, h, { ...form, errors, input }),
    done: async (saved) => {
      const savedId = String(saved['id']);
      const shadow = (await readShadowRules(web.services.database, [savedId])).get(savedId);
      const notes = [
        doneInWords(saved, id === null),
        ...(shadow === undefined ? [] : [shadowWords(shadow)]),
        meaningOf(String(saved['destination'])) ?? '',
      ];
      return { said: notes.join(' ').trim(), to: RULES };
    },
  });
}

/** The sentence about a rule that was written. */
function doneInWords({ enabled, enforced, starts_at, ends_at }: Shown, isNew: boolean): string {
  const rule = {
    enabled: enabled === true,
    enforced: enforced === true,
    starts_at: timeIn(starts_at),
    ends_at: timeIn(ends_at),
  };
  switch (ruleState(rule, Date.now())) {
    case 'disabled':
      return 'The rule is saved. It is disabled and decides nothing.';
    case 'waiting':
      return rule.enforced
        ? 'The rule is saved. It decides nothing before its start.'
        : 'The rule is saved. It is staged: from its start on it counts what it would decide, and decides nothing.';
    case 'over':
      return 'The rule is saved. Its end is over, so it decides nothing.';
    case 'staged':
      return 'The rule is saved. It is staged: it decides nothing, and counts what it would decide.';
    case 'enabled':
      return isNew ? 'The rule is in force.' : 'The changes are in force.';
  }
}

/** A time of an answer; null where there is none. */
function timeIn(shown: unknown): Date | null {
  return typeof shown === 'string' ? new Date(shown) : null;
}

/** The errors in the words of the form, where users are e-mails and ports need a protocol. */
function ruleErrors(errors: FormErrors, typed: Typed): FormErrors {
  const said = quotedErrors(whoseErrors(errors, (typed['whose'] ?? '').trim()), typed);
  const hasPorts = (typed['port_range'] ?? '').trim() !== '';
  if (typed['port_type'] === 'icmp' && hasPorts) {
    // The API reports up to three errors where people made one.
    const { protocol = [], port_type = [], port_range = [], ...others } = said;
    const isRefused = protocol.length + port_type.length + port_range.length > 0;
    return isRefused ? { ...others, port_range: [NO_PORTS] } : others;
  }
  const isProtocolMissing = typed['port_type'] === '' && hasPorts;
  return isProtocolMissing ? { ...said, port_type: [NO_PROTOCOL] } : said;
}

/** The rules among these that never decide, each with the rule that shadows it. */
async function readShadowRules(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RuleRow>> {
  const shadows = await readShadows(database, ids, Date.now());
  const rows = await readRules(database, { ids: [...new Set(shadows.values())] });
  const byId = new Map(rows.map((rule) => [rule.id, rule]));
  return new Map(
    [...shadows].flatMap(([id, by]): [string, RuleRow][] => {
      const rule = byId.get(by);
      return rule === undefined ? [] : [[id, rule]];
    }),
  );
}

/** What a person should know about a rule beside its fields. */
function notesOn(
  { destination, description, starts_at, ends_at }: RuleRow,
  shadow: RuleRow | undefined,
): string {
  const network = meantNetwork(destination);
  return [
    ...(shadow === undefined ? [] : [shadowWords(shadow)]),
    ...(starts_at === null ? [] : [`It starts at ${utcInWords(starts_at)}.`]),
    ...(ends_at === null ? [] : [`It ends at ${utcInWords(ends_at)}.`]),
    ...(network === null ? [] : [`It means ${network}.`]),
    description ?? '',
  ]
    .join(' ')
    .trim();
}

function shadowWords(shadow: RuleRow): string {
  return `It is shadowed by “${ruleInWords(shadow)}” and never decides.`;
}

/** What happens to a packet that no rule matches. */
async function otherwise({ recall }: Web): Promise<string> {
  return (await recall.configuration()).default_action === 'accept'
    ? 'A packet that no rule matches is accepted.'
    : 'A packet that no rule matches is dropped.';
}

function idOf(request: Request): string {
  return String(request.params['id']).toLowerCase();
}

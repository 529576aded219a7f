// Policy tests in the console: which packets the rules must let pass and which not, and the present
// result of each test. docs/api.md#policy-tests.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { readDevices, readUsers } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { POLICY_TESTS_MAX, type PolicyTests } from '../../domain/policy-tests/policy-tests.ts';
import type { Shown } from '../../kit/records/shown.ts';
import {
  formView,
  inputOf,
  type Section,
  textOfValue,
  type Typed,
  typedFrom,
  typedIn,
} from '../kit/form.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm, type Sending } from '../kit/save.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import { PAGE_RECORDS, queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { serviceErrors, serviceFields } from '../parts/service-fields.ts';
import { namedDevice, OFFERED_DEVICES } from '../parts/named-device.ts';
import { OFFERED_PEOPLE, ownerErrors, ownerIdOf } from '../parts/owners.ts';

const TESTS = '/rules/policy_tests';

const testForm: readonly Section[] = [
  {
    fields: [
      {
        name: 'name',
        label: 'Name',
        help: 'What it is for: Alice reaches the wiki.',
        isRequired: true,
      },
      {
        name: 'user_id',
        label: 'From a user',
        kind: 'email',
        help: 'The e-mail of the user whose devices send the packet. Or name one device below.',
        combobox: OFFERED_PEOPLE,
      },
      {
        name: 'device_id',
        label: 'From a device',
        help: 'Its name, its address in the tunnel or its id.',
        combobox: OFFERED_DEVICES,
      },
      {
        name: 'destination',
        label: 'To',
        help: 'An address, such as 10.0.0.5.',
        isRequired: true,
      },
      ...serviceFields,
      {
        name: 'expect',
        label: 'What is to become of it',
        kind: 'choice',
        choices: [
          ['accept', 'It passes'],
          ['drop', 'It does not pass'],
        ],
      },
    ],
  },
];

/** The routes of policy tests. */
export function policyTestPages(web: Web): ServerRoute[] {
  const tests = web.rooms.policyTests;
  return [
    adminPage('GET', TESTS, (request, h) => showTests(web, tests, request, h)),
    adminPage('GET', `${TESTS}/new`, (request, h) => {
      const typed = typedFrom({ protocol: 'tcp', expect: 'accept' }, testForm);
      return showForm(web, request, h, { test: null, shown: null, typed });
    }),
    adminPage('POST', `${TESTS}/new`, (request, h) => save(web, null, request, h)),
    adminPage('GET', `${TESTS}/{id}`, async (request, h) => {
      const test = await tests.show(idOf(request));
      const shown = await typedPresent(web, test);
      return showForm(web, request, h, { test, shown, typed: shown });
    }),
    adminPage('POST', `${TESTS}/{id}`, async (request, h) =>
      save(web, await tests.show(idOf(request)), request, h),
    ),
    adminPage('POST', `${TESTS}/{id}/delete`, (request, h) =>
      act(web, request, h, {
        write: performs(callerOf(request), 'deletePolicyTest', { params: { id: idOf(request) } }),
        back: TESTS,
        done: () => 'The policy test is deleted.',
      }),
    ),
  ];
}

async function showTests(
  web: Web,
  tests: PolicyTests,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const all = await tests.list({ limit: POLICY_TESTS_MAX });
  // Those that fail come first.
  const sorted = [
    ...all.filter(({ passes }) => passes !== true),
    ...all.filter(({ passes }) => passes === true),
  ];
  const page = Math.max(1, Math.trunc(Number(queryText(request, 'page'))) || 1);
  const shown = sorted.slice((page - 1) * PAGE_RECORDS, page * PAGE_RECORDS);
  const known = await senders(web, shown);
  const at = (number: number): string => `${TESTS}?page=${number}`;
  return web.pages.show(request, h, 'policy-tests', {
    title: 'Policy tests',
    failed: all.filter(({ passes }) => passes !== true).length,
    count: all.length,
    list: shown.map((test) => testCells(test, known)),
    pages: {
      previous: page > 1 ? at(page - 1) : null,
      next: sorted.length > page * PAGE_RECORDS ? at(page + 1) : null,
    },
  });
}

/** Names of the senders of tests, by id. */
interface Senders {
  readonly emails: ReadonlyMap<unknown, string>;
  readonly devices: ReadonlyMap<unknown, string>;
}

/** A device is shown by an address where it has one: other devices may have its name. */
async function senders(web: Web, tests: readonly Shown[]): Promise<Senders> {
  const { database } = web.services;
  const idsOf = (name: string): string[] =>
    tests.map((test) => test[name]).filter((id) => typeof id === 'string');
  const users = await readUsers(database, { ids: idsOf('user_id') });
  const devices = await readDevices(database, { ids: idsOf('device_id') });
  return {
    emails: new Map(users.map(({ id, email }) => [id, email])),
    devices: new Map(devices.map(({ id, ipv4, ipv6, name }) => [id, ipv4 ?? ipv6 ?? name])),
  };
}

/** A test as its form shows it. */
async function typedPresent(web: Web, test: Shown): Promise<Typed> {
  const { emails, devices } = await senders(web, [test]);
  const [user_id, device_id] = [emails.get(test['user_id']), devices.get(test['device_id'])];
  return typedFrom({ ...test, user_id, device_id }, testForm);
}

function testCells(test: Shown, { emails, devices }: Senders): unknown[] {
  const { passes, protocol, port, user_id: userId, device_id: deviceId } = test;
  const service = [String(protocol).toUpperCase(), textOfValue(port)].join(' ').trim();
  return [
    { text: test['name'], href: `${TESTS}/${String(test['id'])}`, help: String(test['text']) },
    passes === true ? { text: 'Passes', badge: 'good' } : { text: 'Fails', badge: 'bad' },
    deviceId === null
      ? { text: emails.get(userId) ?? '', href: `/users/${textOfValue(userId)}` }
      : { text: devices.get(deviceId) ?? '', href: `/devices/${textOfValue(deviceId)}` },
    { text: String(test['destination']), help: service },
    test['expect'] === 'accept' ? 'passes' : 'does not pass',
  ];
}

interface Form {
  /** Null for a new one. */
  readonly test: Shown | null;
  /** That test as its form shows it now. */
  readonly shown: Typed | null;
  readonly typed: Typed;
  readonly errors?: FormErrors;
}

async function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { test, shown, typed, errors = {} }: Form,
): Promise<ResponseObject> {
  const path = test === null ? `${TESTS}/new` : `${TESTS}/${String(test['id'])}`;
  const ruleId = test?.['rule_id'] ?? null;
  return web.pages.show(request, h, 'policy-test', {
    title: test === null ? 'Add a policy test' : 'Change a policy test',
    scripts: ['combobox.js'],
    result:
      test === null
        ? null
        : {
            passes: test['passes'],
            text: test['text'],
            rule: typeof ruleId === 'string' ? `/rules/${ruleId}` : null,
          },
    remove: test === null ? null : `${path}/delete`,
    form: formView(testForm, typed, {
      action: path,
      submit: test === null ? 'Add the policy test' : 'Save',
      cancel: TESTS,
      ...(shown === null ? {} : { seen: seenOf(shown) }),
      errors: ownerErrors(serviceErrors(errors), (typed['user_id'] ?? '').trim()),
    }),
  });
}

async function save(
  web: Web,
  present: Shown | null,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const typed = typedIn(request, testForm);
  const id = present === null ? null : String(present['id']);
  const shown = present === null ? null : await typedPresent(web, present);
  const sending = await sendingOf(web, typed);
  return saveForm(web, request, h, {
    refused: shown === null ? null : changedMeanwhile(request, { typed, present: shown }, testForm),
    write:
      id === null
        ? performs(callerOf(request), 'createPolicyTest', sending)
        : performs(callerOf(request), 'updatePolicyTest', { ...sending, params: { id } }),
    again: (errors) => showForm(web, request, h, { test: present, shown, typed, errors }),
    done: ({ passes, text }) => {
      const words =
        passes === true
          ? 'The policy test is saved, and passes.'
          : 'The policy test is saved, and fails.';
      const kind = passes === true ? 'done' : 'failed';
      return { said: `${words} ${textOfValue(text)}`, to: TESTS, kind };
    },
  });
}

/** People name a user by e-mail and a device by its name, the API by id. */
async function sendingOf(web: Web, typed: Typed): Promise<Sending> {
  const { database } = web.services;
  const user_id = await ownerIdOf(database, (typed['user_id'] ?? '').trim());
  const word = (typed['device_id'] ?? '').trim();
  const named = word === '' ? null : await namedDevice(database, word);
  const record = { ...inputOf(typed, testForm), user_id, device_id: named?.id ?? '' };
  if (named === null || named.id !== null) return { record };
  const error = named.error ?? { code: 'noDeviceAt', values: { address: word } };
  return { record, errors: { device_id: [error] } };
}

function idOf(request: Request): string {
  return String(request.params['id']).toLowerCase();
}

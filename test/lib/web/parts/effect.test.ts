// Before each form of the console that ends flows, the person is asked: what would end is listed,
// nothing is written until they agree, and what they typed is kept.

import type { Request } from '@hapi/hapi';
import test, { type ExecutionContext } from 'ava';
import type { ChangeEffect } from '../../../../dataplane/index.ts';
import type { RowChanges } from '../../../../lib/reconcile/read.ts';
import type { Web } from '../../../../lib/web/kit/web.ts';
import { mayTry, untilMayTry } from '../../../../lib/web/parts/effect.ts';
import { newId, registerGateway, writeTransaction } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addDevice, addRule } from '../../../support/database/records.ts';
import { fakeLive, flowOf } from '../../../support/observe/fake-gateway.ts';
import { type Console, NASTY, openConsole } from '../../../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

const NOTHING: ChangeEffect = {
  ended: { count: 0, found: [], devices: [] },
  passed: { count: 0, found: [] },
};

/** What the form of a device sends beside its name, its key and its IPv4 address. */
const DEVICE = {
  description: '',
  ipv6: 'fd00::9:9',
};

interface Scene extends Console {
  /** What the gateway says; tests change it. */
  readonly gateway: {
    effect: () => Promise<ChangeEffect>;
    readonly asked: RowChanges[];
    peers: ReadonlyMap<string, null>;
  };
  readonly laptop: string;
  /** The public key of the laptop. */
  readonly key: string;
  readonly phone: string;
  readonly rule: string;
}

async function openScene(t: ExecutionContext, kind: 'sqlite' | 'mariadb'): Promise<Scene> {
  let laptop = '';
  const ended = { count: 1_014, found: [flowOf('key')], devices: ['a', 'b', 'c'] };
  const gateway = {
    effect: async (): Promise<ChangeEffect> => ({ ...NOTHING, ended }),
    asked: [] as RowChanges[],
    peers: new Map<string, null>() as ReadonlyMap<string, null>,
  };
  const live = fakeLive(GATEWAY, {
    tried: (rows) => {
      gateway.asked.push(rows);
      return { peers: gateway.peers, rules: new Map() };
    },
    effectOf: () => gateway.effect(),
    userIdOf: (key) => key,
    deviceIdOf: () => laptop,
  });
  const console = await openConsole(t, kind, {}, { live });
  const { database, plainUser } = console;
  const fields = { name: 'laptop', ipv4: '100.64.9.9', ipv6: 'fd00::9:9' };
  const device = await addDevice(database, plainUser.id, fields);
  laptop = device.id;
  const key = device.public_key;
  const { id: phone } = await addDevice(database, plainUser.id, { name: 'phone' });
  const { id: rule } = await addRule(database, { destination: '10.9.0.0/16' });
  return { ...console, gateway, laptop, phone, rule, key };
}

const newRule = {
  action: 'drop',
  destination: '10.0.0.5',
  port_type: '',
  port_range: '',
  whose: '',
};

/** Each form that can end flows: its path, what is sent, and whether it can be changed again. */
function formsOf({
  laptop,
  key,
  rule,
  plainUser,
}: Scene): [string, Record<string, string>, boolean][] {
  const device = { ...DEVICE, name: 'laptop', ipv4: '100.64.9.10', preshared_key: '' };
  return [
    ['/rules/new', newRule, true],
    [`/rules/${rule}`, { ...newRule, destination: '10.9.0.1' }, true],
    [`/devices/${laptop}/edit`, { ...device, public_key: key }, true],
    [`/devices/${laptop}/switches`, { do: 'off' }, false],
    [`/devices/${laptop}/switches`, { do: 'expire', expires_at: '2026-01-01T00:00' }, false],
    [
      `/users/${plainUser.id}/edit`,
      { email: 'user@example.com', role: 'unprivileged', quota: '2000000' },
      true,
    ],
    [`/users/${plainUser.id}/disable`, {}, false],
    ['/settings/default_action', { default_action: 'drop' }, true],
    [`/rules/${rule}/delete`, {}, false],
    [`/devices/${laptop}/delete`, {}, false],
    [`/users/${plainUser.id}/delete`, {}, false],
  ];
}

async function revisionOf({ send }: Scene): Promise<unknown> {
  const paths = ['rules', 'devices', 'users', 'configuration'];
  return Promise.all(paths.map(async (name) => (await send('GET', `/v0/${name}`)).text));
}

function requestOf(id: string): Request {
  return { app: { session: { id } }, payload: {} } as unknown as Request;
}

test('writes of a session wait in their order, not for long, and hold up no other session', async (t) => {
  const web = { services: { live: {} } } as unknown as Web;
  const done: string[] = [];
  const ask = async (id: string, name: string) => {
    await untilMayTry(web, requestOf(id));
    done.push(name);
  };
  const began = performance.now();
  t.true(mayTry(requestOf('one'), began));
  await Promise.all([ask('one', 'first'), ask('one', 'second'), ask('other', 'other')]);
  t.deepEqual(done, ['other', 'first', 'second']);
  t.true(performance.now() - began > 1_900, 'one a second');
  const busy = requestOf('busy');
  t.true(mayTry(busy, performance.now() + 9_000));
  await t.throwsAsync(untilMayTry(web, busy), { name: 'PageError' });
});

for (const kind of firstKind()) {
  test(`${kind}: what would end is shown first, and done when the person agrees`, async (t) => {
    const scene = await openScene(t, kind);
    const { admin } = scene;
    const forms = formsOf(scene);
    for (const [path, fields, isForm] of forms) {
      const before = await revisionOf(scene);
      const { status, text } = await admin.post(path, fields);
      t.is(status, 200, path);
      t.true(text.includes('This ends 1,014 flows of 3 people'), path);
      t.true(text.includes(`/devices/${scene.laptop}">laptop</a>`), path);
      t.true(text.includes('and 1,013 more'), path);
      t.is(text.includes('Change it'), isForm, path);
      for (const [name, value] of Object.entries(fields))
        t.true(text.includes(`name="${name}" value="${value}"`), `${path} ${name}`);
      t.deepEqual(await revisionOf(scene), before, `${path} wrote something`);
    }
    t.is(scene.gateway.asked.length, forms.length);
    for (const [path, fields] of forms) {
      const before = await revisionOf(scene);
      const { status } = await admin.post(path, { ...fields, effect: 'agreed' });
      t.is(status, 303, path);
      t.notDeepEqual(await revisionOf(scene), before, path);
      if (path.endsWith('/disable'))
        t.is((await admin.post(path.replace('disable', 'enable'))).status, 303, 'it ends nothing');
    }
    t.is(scene.gateway.asked.length, forms.length, 'nothing is asked twice');
  });

  test(`${kind}: who goes back finds what was typed, and nothing is written`, async (t) => {
    const scene = await openScene(t, kind);
    for (const [path, fields, isForm] of formsOf(scene)) {
      if (!isForm) continue;
      const before = await revisionOf(scene);
      const { status, text } = await scene.admin.post(path, { ...fields, effect: 'back' });
      t.is(status, 200, path);
      for (const value of Object.values(fields))
        if (value !== '') t.true(text.includes(`value="${value}"`), `${path} ${value}`);
      t.deepEqual(await revisionOf(scene), before, path);
    }
  });

  test(`${kind}: nobody is asked where nothing ends, or where it would be refused`, async (t) => {
    const scene = await openScene(t, kind);
    const { admin, gateway } = scene;
    const refused = await admin.post('/rules/new', { ...newRule, destination: 'files' });
    t.is(refused.status, 422);
    t.is(gateway.asked.length, 0);
    gateway.effect = async () => NOTHING;
    t.is((await admin.post('/rules/new', newRule)).status, 303);
    t.is(gateway.asked.length, 1);
  });

  test(`${kind}: to save soon after a check asks again`, async (t) => {
    const { admin, gateway } = await openScene(t, kind);
    let asked = 0;
    gateway.effect = async () => {
      asked += 1;
      return NOTHING;
    };
    t.is((await admin.post('/rules/new', { ...newRule, do: 'check' })).status, 200);
    t.is((await admin.post('/rules/new', newRule)).status, 303);
    t.is(asked, 2);
  });

  test(`${kind}: what somebody changed while a form waited for its turn is not overwritten`, async (t) => {
    const { admin, adminUser, database, gateway, rule } = await openScene(t, kind);
    gateway.effect = async () => NOTHING;
    const [, seen = ''] = /name="seen" value="([^"]+)"/.exec(
      (await admin.get(`/rules/${rule}`)).text,
    )!;
    const where = { user_id: adminUser.id };
    const { id } = await database.models.Session.findOne({ where, rejectOnEmpty: true });
    // Its next turn is three seconds from now.
    t.true(mayTry(requestOf(id), performance.now() + 2_000));
    const fields = { ...newRule, destination: '10.9.0.0/16', enabled: 'true', seen };
    const saving = admin.post(`/rules/${rule}`, fields);
    await writeTransaction(database, async (transaction) =>
      database.models.Rule.update({ enforced: false }, { where: { id: rule }, transaction }),
    );
    t.is((await saving).status, 422);
    t.false((await database.models.Rule.findByPk(rule))?.enforced);
  });

  test(`${kind}: the question names other gateways, and devices that are cut off there`, async (t) => {
    const scene = await openScene(t, kind);
    const { admin, database, gateway, laptop, key } = scene;
    const berlin = newId();
    await registerGateway(database, { id: berlin, name: 'berlin', startedAt: new Date() });
    const first = await admin.post('/rules/new', newRule);
    t.true(first.text.includes('This ends 1,014 flows of 3 people at this gateway'));
    t.true(first.text.includes('berlin runs too: ask it what ends there.'));
    gateway.effect = async () => NOTHING;
    const off = { do: 'off' };
    const at = new Date();
    const seen = { gateway_id: berlin, latest_handshake: at, updated: at };
    await database.models.DeviceStatus.create({ device_id: laptop, ...seen });
    gateway.peers = new Map([[key, null]]);
    const { status, text } = await admin.post(`/devices/${laptop}/switches`, off);
    t.is(status, 200);
    t.true(text.includes('This ends no flow at this gateway'));
    t.true(text.includes('It cuts off 1 device that is connected to berlin.'));
    t.false(text.includes('Flows that would end'));
    gateway.peers = new Map();
    const rule = { ...newRule, destination: '10.0.0.6' };
    t.is((await admin.post('/rules/new', rule)).status, 303, 'it ends nothing that is known');
  });

  test(`${kind}: a gateway that does not answer holds nobody up`, async (t) => {
    const scene = await openScene(t, kind);
    scene.gateway.effect = () => new Promise(() => undefined);
    const { status } = await scene.admin.post(`/users/${scene.plainUser.id}/disable`);
    t.is(status, 303);
    t.not((await scene.plainUser.reload()).disabled_at, null);
  });

  test(`${kind}: many devices are asked about together`, async (t) => {
    const scene = await openScene(t, kind);
    const { admin, laptop, phone, database } = scene;
    const sent = [laptop, phone].map((id) => ['id', id] as const);
    const off = [['do', 'off'], ...sent] as const;
    const { status, text } = await admin.postPairs('/devices/many', off);
    t.is(status, 200);
    t.true(text.includes('Switch these devices off?'));
    t.true(text.includes('It ends 1,014 flows of 3 people.'));
    t.deepEqual(
      scene.gateway.asked.map(({ devices }) =>
        [...devices.keys()].toSorted((a, b) => a.localeCompare(b)),
      ),
      [[laptop, phone].toSorted((a, b) => a.localeCompare(b))],
    );
    const isOff = (): Promise<number> =>
      database.models.Device.findAll().then(
        (all) => all.filter(({ disabled_at }) => disabled_at !== null).length,
      );
    t.is(await isOff(), 0);
    t.is((await admin.postPairs('/devices/many', [...off, ['sure', 'true']])).status, 303);
    t.is(await isOff(), 2);
    const end = [
      ['do', 'expire'],
      ['expires_at', '2031-07-01T12:00'],
      ['expires_at_offset', '-120'],
    ];
    const asked = await admin.postPairs('/devices/many', [...(end as [string, string][]), ...sent]);
    for (const [name, value] of end.slice(1))
      t.true(asked.text.includes(`name="${name}" value="${value}"`), 'the question keeps it');
    scene.gateway.effect = async () => NOTHING;
    const on = [['do', 'on'], ...sent] as const;
    t.is((await admin.postPairs('/devices/many', on)).status, 303, 'it ends nothing');
    t.is(await isOff(), 0);
  });

  test(`${kind}: what was sent is repeated as text, whatever it is`, async (t) => {
    const scene = await openScene(t, kind);
    const fields = { ...DEVICE, name: NASTY, ipv4: '100.64.9.10', public_key: scene.key };
    const path = `/devices/${scene.laptop}/edit`;
    const { text } = await scene.admin.post(path, { ...fields, [NASTY]: NASTY });
    t.true(text.includes('This ends'));
    t.false(text.includes('<img src=x'));
    t.false(text.includes('<script>alert'));
  });
}

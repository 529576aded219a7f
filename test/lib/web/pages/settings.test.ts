// Settings in the console: validated as the API does, locked where the environment fixes them.

import test from 'ava';
import { samlMetadata } from '../../../support/auth/identity-provider.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';
import { firstKind } from '../../../support/database/databases.ts';

const DEFAULTS = '/settings/client_defaults';
const SECURITY = '/settings/security';
const DEFAULT_ACTION = '/settings/default_action';
const LIMITS = '/settings/limits';

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change settings`, async (t) => {
    const console = await openConsole(t, kind);
    const paths = [DEFAULTS, SECURITY, DEFAULT_ACTION, LIMITS];
    await checkGuard(t, console, { pages: paths, forms: paths });
    t.is((await console.admin.get('/settings')).location, DEFAULTS);
    t.is((await console.user.get('/settings')).status, 403);
  });

  test(`${kind}: what is saved is what the API shows, and what is derived stays derived`, async (t) => {
    const { admin, send, database } = await openConsole(t, kind);
    await admin.get(DEFAULTS);
    const read = async () => ((await send('GET', '/v0/configuration')).body as never)['data'];
    const { default_client_endpoint } = (await read()) as Record<string, string>;
    const saved = await admin.post(DEFAULTS, {
      default_client_endpoint: String(default_client_endpoint),
      default_client_allowed_ips: '10.0.0.0/8,\nfd00::/8',
      default_client_dns: '',
      default_client_mtu: '1280',
      default_client_persistent_keepalive: '0',
    });
    t.is(saved.status, 303, saved.text);
    t.like(await read(), {
      default_client_allowed_ips: ['10.0.0.0/8', 'fd00::/8'],
      default_client_dns: [],
      default_client_persistent_keepalive: 0,
    });
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.is(row.default_client_endpoint, null);
    t.is(row.default_client_mtu, null);
  });

  test(`${kind}: limits are saved, quoted where they are no number, and taken away when empty`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    const read = async () => ((await send('GET', '/v0/configuration')).body as never)['data'];
    await admin.get(LIMITS);
    const save = (down: string) =>
      admin.post(LIMITS, { default_limit_down: down, default_limit_up: '64000' });
    t.is((await save('10000000')).status, 303);
    t.like(await read(), { default_limit_down: 10_000_000, default_limit_up: 64_000 });
    t.true((await admin.get(LIMITS)).text.includes('value="10 Mbit/s"'));
    t.is((await save('1,5 Gbit/s')).status, 303);
    t.like(await read(), { default_limit_down: 1_500_000_000 });
    for (const [typed, error] of [
      ['5 MB/s', '“5 MB/s” is in a unit that is not taken here. It is the same as 40 Mbit/s'],
      ['50', 'This is very little. Did you mean 50 Mbit/s?'],
      ['63999', 'Please give 64 kbit/s or more'],
      ['200 Gbit/s', 'Please give 100 Gbit/s or less'],
    ] as const) {
      const refused = await save(typed);
      t.is(refused.status, 422);
      t.true(refused.text.includes(error), error);
    }
    t.is((await save('')).status, 303);
    t.like(await read(), { default_limit_down: null, default_limit_up: 64_000 });
  });

  test(`${kind}: a session's length is typed in units; a box that is not ticked is off`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    await admin.get(SECURITY);
    const read = async () => ((await send('GET', '/v0/configuration')).body as never)['data'];
    await admin.post(SECURITY, {
      vpn_session_duration: '36',
      duration_unit: 'hours',
      local_auth_enabled: 'true',
    });
    t.like(await read(), {
      vpn_session_duration: 129_600,
      local_auth_enabled: true,
      allow_unprivileged_device_management: false,
    });
    const { text } = await admin.get(SECURITY);
    t.regex(text, /name="vpn_session_duration"[^>]*|value="36"/);
    t.true(text.includes('value="36"'));
    t.true(text.includes('<option value="hours" selected>'));
    for (const [value, message] of [
      ['-1', 'Please give 0 or more'],
      ['x', '“x” is not a whole number'],
      ['24856', 'Please give 24855 or less'],
    ] as const) {
      const fields = { vpn_session_duration: value, duration_unit: 'days' };
      const answer = await admin.post(SECURITY, { ...fields, local_auth_enabled: 'true' });
      t.is(answer.status, 422, value);
      t.true(answer.text.includes(message), message);
      t.true(answer.text.includes(`value="${value}"`), 'as it was typed');
    }
  });

  test(`${kind}: passwords are not switched off where no administrator could sign in then`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    const page = await admin.get(SECURITY);
    const kept = { vpn_session_duration: '0', duration_unit: 'hours' };
    const seen = /name="seen" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const refused = await admin.post(SECURITY, { ...kept, seen });
    t.is(refused.status, 422);
    t.regex(refused.text, /class="error"[^>]*>No administrator could sign in any more/);
    const read = async () => ((await send('GET', '/v0/configuration')).body as never)['data'];
    t.like(await read(), { local_auth_enabled: true });
    const metadata = samlMetadata();
    const provider = { id: 'adfs', label: 'ADFS', auto_create_users: false, metadata };
    const body = { configuration: { saml_identity_providers: [provider] } };
    t.is((await send('PATCH', '/v0/configuration', { body })).status, 200);
    t.is((await admin.post(SECURITY, kept)).status, 303);
    t.like(await read(), { local_auth_enabled: false });
    await admin.get('/settings/providers');
    await admin.post('/settings/providers/saml/adfs/delete');
    t.regex((await admin.get('/settings/providers')).text, /It is not removed. No administrator/);
    t.is((await admin.post(SECURITY, { ...kept, local_auth_enabled: 'true' })).status, 303);
    await admin.post('/settings/providers/saml/adfs/delete');
    t.regex((await admin.get('/settings/providers')).text, /ADFS is removed/);
  });

  test(`${kind}: two administrators at the same moment do not take both ways to sign in`, async (t) => {
    const { admin, send, database, server } = await openConsole(t, kind);
    await addPerson(database, 'other@example.com', { role: 'admin' });
    const other = new Visitor({ server });
    t.is((await other.signIn('other@example.com')).status, 303);
    const kept = { vpn_session_duration: '0', duration_unit: 'hours' };
    const providers = '/settings/providers';
    const provider = {
      id: 'adfs',
      label: 'ADFS',
      auto_create_users: false,
      metadata: samlMetadata(),
    };
    const both = { local_auth_enabled: true, saml_identity_providers: [provider] };
    for (let round = 0; round < 5; round += 1) {
      const body = { configuration: both };
      t.is((await send('PATCH', '/v0/configuration', { body })).status, 200);
      await Promise.all([admin.get(SECURITY), other.get(providers)]);
      await Promise.all([admin.post(SECURITY, kept), other.post(`${providers}/saml/adfs/delete`)]);
      const { data } = (await send('GET', '/v0/configuration')).body as never as {
        data: { local_auth_enabled: boolean; saml_identity_providers: unknown[] };
      };
      const ways = Number(data.local_auth_enabled) + data.saml_identity_providers.length;
      t.is(ways, 1, 'one of the two was refused');
    }
  });

  test(`${kind}: hosts of numbers that are no address are refused`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    await admin.get('/settings/client_defaults');
    const typed = { default_client_dns: '1.1.1', default_client_allowed_ips: '10.0.0.0/8' };
    const answer = await admin.post('/settings/client_defaults', typed);
    t.is(answer.status, 422);
    t.regex(answer.text, /“1\.1\.1” is not an address/);
    const { body } = await send('GET', '/v0/configuration');
    t.false(JSON.stringify(body).includes('"1.1.1"'));
  });

  test(`${kind}: what no rule decides is chosen, and the pages of rules say it`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    const page = (await admin.get(DEFAULT_ACTION)).text;
    t.true(page.includes('<option value="accept" selected>'));
    t.true(page.includes('The change is in force at once, also for connections that are open.'));
    t.is((await admin.post(DEFAULT_ACTION, { default_action: 'drop' })).status, 303);
    const { body } = await send('GET', '/v0/configuration');
    t.like((body as never)['data'], { default_action: 'drop' });
    t.true((await admin.get(DEFAULT_ACTION)).text.includes('<option value="drop" selected>'));
    for (const path of ['/rules', '/rules/new']) {
      const { text } = await admin.get(path);
      t.true(text.includes('A packet that no rule matches is dropped.'), path);
      t.true(text.includes(`href="${DEFAULT_ACTION}"`), path);
    }
    const refused = await admin.post(DEFAULT_ACTION, { default_action: 'reject' });
    t.is(refused.status, 422);
  });

  test(`${kind}: what no rule decides is locked where the environment fixes it`, async (t) => {
    const { admin, database } = await openConsole(t, kind, { DEFAULT_ACTION: 'drop' });
    const { text } = await admin.get(DEFAULT_ACTION);
    t.true(text.includes('Fixed by the environment variable DEFAULT_ACTION; change it there.'));
    t.regex(text, /name="default_action"[^>]* disabled/);
    t.true(text.includes('<option value="drop" selected>'));
    await admin.post(DEFAULT_ACTION, { default_action: 'accept' });
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.is(row.default_action, 'accept', 'as it was before');
    t.true((await admin.get('/rules')).text.includes('A packet that no rule matches is dropped.'));
  });

  test(`${kind}: errors stand at their fields, and what was typed stays text`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get(DEFAULTS);
    const answer = await admin.post(DEFAULTS, {
      default_client_endpoint: NASTY,
      default_client_allowed_ips: NASTY,
      default_client_dns: NASTY,
      default_client_mtu: NASTY,
      default_client_persistent_keepalive: NASTY,
    });
    t.is(answer.status, 422);
    t.true(answer.text.includes('is neither an address nor the name of a host'));
    checkText(t, answer, 'the form');
  });

  test(`${kind}: what the environment fixes is locked, with the variable's name`, async (t) => {
    const settings = { VPN_SESSION_DURATION: '3600', DEFAULT_CLIENT_DNS: '9.9.9.9' };
    const { admin, database } = await openConsole(t, kind, settings);
    const page = await admin.get(SECURITY);
    t.true(page.text.includes('Fixed by the environment variable VPN_SESSION_DURATION'));
    t.regex(page.text, /name="vpn_session_duration"[^>]* disabled/);
    t.regex(page.text, /name="duration_unit"[^>]* disabled/);
    const forged = { vpn_session_duration: '0', local_auth_enabled: 'true' };
    t.is((await admin.post(SECURITY, forged)).status, 303, 'it is not looked at');
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.is(row.vpn_session_duration, 0);
    t.true((await admin.get(SECURITY)).text.includes('value="1"'));
    const bad = { default_client_mtu: '1', default_client_allowed_ips: '::/0' };
    const refused = await admin.post(DEFAULTS, {
      ...bad,
      default_client_persistent_keepalive: '0',
    });
    t.is(refused.status, 422);
    t.true(refused.text.includes('value="9.9.9.9"'), 'what is locked shows what serves');
  });
}

test('the page says whether VPN sessions bind users who never signed in', async (t) => {
  const free = await openConsole(t, 'sqlite');
  t.regex((await free.admin.get(SECURITY)).text, /never signed in are not bound by it/);
  const bound = await openConsole(t, 'sqlite', { VPN_SESSION_REQUIRE_SIGN_IN: 'true' });
  const { text } = await bound.admin.get(SECURITY);
  t.regex(text, /never signed in pass no packet until their owners sign in/);
  t.false(text.includes('not bound'));
});

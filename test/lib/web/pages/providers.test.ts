// Identity providers in the console: secrets never come back, trust is a mark of its own, and
// trying one changes nothing.

import test from 'ava';
import { isTrusted } from '../../../../models/index.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { providerPresets } from '../../../../lib/web/parts/provider-presets.ts';
import { openProvider, samlMetadata } from '../../../support/auth/identity-provider.ts';

const PROVIDERS = '/settings/providers';
const SECRET = 'a secret of theirs';

for (const kind of firstKind()) {
  const typedFor = (origin: string) => ({
    label: 'Okta',
    id: 'okta',
    discovery_document_uri: `${origin}/openid`,
    client_id: 'postern',
    client_secret: SECRET,
    scope: 'openid email',
    redirect_uri: '',
  });

  test(`${kind}: only administrators see and change providers`, async (t) => {
    const console = await openConsole(t, kind);
    const provider = await openProvider(t);
    await console.admin.get(`${PROVIDERS}/oidc/new`);
    await console.admin.post(`${PROVIDERS}/oidc/new`, typedFor(provider.origin));
    const one = `${PROVIDERS}/oidc/okta`;
    await checkGuard(t, console, {
      pages: [PROVIDERS, `${PROVIDERS}/oidc/new`, `${PROVIDERS}/saml/new`, one],
      forms: [`${PROVIDERS}/oidc/new`, `${PROVIDERS}/saml/new`, one, `${one}/delete`],
    });
    for (const path of [`${PROVIDERS}/oidc/none`, `${PROVIDERS}/saml/okta`]) {
      t.is((await console.admin.get(path)).status, 404, path);
      t.is((await console.admin.post(path)).status, 404, path);
      t.is((await console.admin.post(`${path}/delete`)).status, 404, path);
    }
  });

  test(`${kind}: an OpenID provider is added, trusted, changed without its secret, removed`, async (t) => {
    const { admin, database, send } = await openConsole(t, kind);
    const provider = await openProvider(t);
    const typed = typedFor(provider.origin);
    await admin.get(`${PROVIDERS}/oidc/new`);
    const made = await admin.post(`${PROVIDERS}/oidc/new`, { ...typed, is_trusted: 'true' });
    t.is(made.location, PROVIDERS, made.text);
    const entries = async () =>
      ((await send('GET', '/v0/configuration')).body as never)['data'][
        'openid_connect_providers'
      ] as object[];
    t.like((await entries())[0], { client_secret: SECRET, auto_create_users: false });
    const authority = typed.discovery_document_uri;
    const mark = { kind: 'oidc', provider_id: 'okta', authority } as const;
    t.true(await isTrusted(database, mark));
    const page = await admin.get(`${PROVIDERS}/oidc/okta`);
    t.false(page.text.includes(SECRET));
    const isKept = 'Empty: it stays as it is.';
    t.true(page.text.includes(isKept));
    const fresh = await admin.get(`${PROVIDERS}/oidc/new`);
    t.false(fresh.text.includes(isKept), 'a new entry has no secret that could stay');
    t.true(page.text.includes('/auth/oidc/okta/callback/</code>'), 'ready to be copied');
    t.true((await admin.get(`${PROVIDERS}/saml/new`)).text.includes('/sp/consume/saml</code>'));
    t.regex(page.text, /name="id"[^>]* disabled/);
    t.regex(page.text, /name="is_trusted"[^>]* checked/);
    const change = { ...typed, id: 'other', label: 'Company', client_secret: '' };
    t.is((await admin.post(`${PROVIDERS}/oidc/okta`, change)).status, 303);
    t.like((await entries())[0], { id: 'okta', label: 'Company', client_secret: SECRET });
    t.false(await isTrusted(database, mark), 'the box was not ticked');
    await admin.post(`${PROVIDERS}/oidc/okta/delete`);
    t.deepEqual(await entries(), []);
    const { AuditEntry } = database.models;
    t.false(JSON.stringify(await AuditEntry.findAll()).includes(SECRET));
  });

  test(`${kind}: a preset fills the form, with an id that is free`, async (t) => {
    const { admin } = await openConsole(t, kind);
    const provider = await openProvider(t);
    const list = await admin.get(PROVIDERS);
    const pasted = { oidc: '/auth/oidc/NAME/callback/', saml: '/auth/saml/sp/consume/NAME' };
    for (const { kind: protocol, name, title } of providerPresets) {
      const path = `${PROVIDERS}/${protocol}/new?preset=${name}`;
      t.true(list.text.includes(`${path}">${title}</a>`), path);
      const { text } = await admin.get(path);
      t.regex(
        text,
        new RegExp(`name="id"[^>]*value="${name}"|value="${name}"[^>]*name="id"`),
        path,
      );
      t.regex(text, /<details class="further">/, 'Advanced is folded away');
      t.true(text.includes(`${pasted[protocol].replace('NAME', name)}</code>`), 'to be copied');
      t.notRegex(text, /name="(is_trusted|auto_create_users)"[^>]* checked/, path);
      const signed = text.match(/name="(sign|signed)_\w+"[^>]* checked/g) ?? [];
      t.is(signed.length, protocol === 'saml' ? 4 : 0, 'every signature is checked');
      t.is(text.includes('offers to ask for a signature'), protocol === 'saml', path);
    }
    const { text: any } = await admin.get(`${PROVIDERS}/oidc/new?preset=constructor`);
    t.true(any.includes('/auth/oidc/sso/callback/</code>'));
    await admin.post(`${PROVIDERS}/oidc/new`, typedFor(provider.origin));
    const second = await admin.get(`${PROVIDERS}/oidc/new?preset=okta`);
    t.true(second.text.includes('/auth/oidc/okta-2/callback/</code>'));
    const trusting = { ...typedFor(provider.origin), id: 'okta-2', is_trusted: 'true' };
    const refused = await admin.post(`${PROVIDERS}/oidc/new`, { ...trusting, client_id: '' });
    t.regex(refused.text, /<details class="further" open>/, 'what is not usual is seen');
    const unedited = { ...trusting, discovery_document_uri: 'https://{your host}/openid' };
    t.is((await admin.post(`${PROVIDERS}/oidc/new`, unedited)).status, 422);
  });

  test(`${kind}: errors stand at their fields, also those of the list`, async (t) => {
    const { admin } = await openConsole(t, kind);
    const provider = await openProvider(t);
    const typed = typedFor(provider.origin);
    await admin.get(`${PROVIDERS}/oidc/new`);
    await admin.post(`${PROVIDERS}/oidc/new`, typed);
    const again = await admin.post(`${PROVIDERS}/oidc/new`, { ...typed, scope: 'x' });
    t.is(again.status, 422);
    for (const message of ['This is already in use', 'must include openid scope'])
      t.true(again.text.includes(message), message);
    const bad = { ...typed, label: NASTY, id: NASTY, client_id: NASTY, client_secret: '' };
    const answer = await admin.post(`${PROVIDERS}/oidc/new`, bad);
    t.true(answer.text.includes('Please fill this in'));
    checkText(t, answer, 'the form');
    await admin.post(`${PROVIDERS}/oidc/new`, { ...typed, id: 'nasty', label: NASTY });
    for (const path of [PROVIDERS, `${PROVIDERS}/oidc/nasty`, '/settings/security', '/audit'])
      checkText(t, await admin.get(path), path);
  });

  test(`${kind}: trying a provider tells what it found, keeps what was typed, changes nothing`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const provider = await openProvider(t);
    await admin.get(`${PROVIDERS}/oidc/new`);
    const tried = { ...typedFor(provider.origin), do: 'try' };
    const { status, text } = await admin.post(`${PROVIDERS}/oidc/new`, tried);
    t.is(status, 200);
    t.true(text.includes('The discovery document is there and complete.'));
    t.true(text.includes('value="postern"'));
    t.false(text.includes(SECRET));
    const dead = { ...tried, discovery_document_uri: 'http://127.0.0.1:1/x' };
    t.true((await admin.post(`${PROVIDERS}/oidc/new`, dead)).text.includes('badge bad'));
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.deepEqual(row.openid_connect_providers, []);
  });

  test(`${kind}: nobody overwrites unseen what somebody else changed, its mark of trust too`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const provider = await openProvider(t);
    const typed = typedFor(provider.origin);
    await admin.get(`${PROVIDERS}/oidc/new`);
    await admin.post(`${PROVIDERS}/oidc/new`, typed);
    const path = `${PROVIDERS}/oidc/okta`;
    const seenOn = (text: string): string => /name="seen" value="([\w-]+)"/.exec(text)?.[1] ?? '';
    const mine = seenOn((await admin.get(path)).text);
    const theirs = { ...typed, client_secret: '', scope: 'openid email groups' };
    await admin.post(path, { ...theirs, is_trusted: 'true', seen: mine });
    const labelled = { ...typed, client_secret: '', label: 'Company' };
    for (const button of [{}, { do: 'try' }]) {
      const { status, text } = await admin.post(path, { ...labelled, ...button, seen: mine });
      t.is(status, 422);
      for (const words of ['is “openid email groups” now', 'is ticked now', 'value="Company"'])
        t.true(text.includes(words), words);
      t.false(text.includes(SECRET));
    }
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.like(row.openid_connect_providers[0], { label: 'Okta', client_secret: SECRET });
    const { text } = await admin.post(path, { ...labelled, seen: mine });
    t.is((await admin.post(path, { ...labelled, seen: seenOn(text) })).status, 303);
    await row.reload();
    t.like(row.openid_connect_providers[0], { label: 'Company', scope: 'openid email' });
  });

  test(`${kind}: a SAML provider is tried and added; its flags are what was ticked`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    await admin.get(`${PROVIDERS}/saml/new`);
    const typed = { label: 'ADFS', id: 'adfs', metadata: samlMetadata(), sign_requests: 'true' };
    const tried = await admin.post(`${PROVIDERS}/saml/new`, { ...typed, do: 'try' });
    t.true(tried.text.includes('What the test found'), tried.text);
    const made = await admin.post(`${PROVIDERS}/saml/new`, { ...typed, is_trusted: 'true' });
    t.is(made.status, 303, made.text);
    const { data } = (await send('GET', '/v0/configuration')).body as never;
    t.like((data['saml_identity_providers'] as object[])[0], {
      metadata: typed.metadata,
      sign_requests: true,
      sign_metadata: false,
    });
    t.true((await admin.get(PROVIDERS)).text.includes('Trusted'));
    const bad = await admin.post(`${PROVIDERS}/saml/new`, { ...typed, id: 'b', metadata: NASTY });
    t.is(bad.status, 422);
    checkText(t, bad, 'the form');
  });

  test(`${kind}: a list that the environment fixes is shown locked; trust is still ours`, async (t) => {
    const provider = await openProvider(t);
    const entry = { ...typedFor(provider.origin), auto_create_users: true, redirect_uri: null };
    const { admin, database } = await openConsole(t, kind, {
      OPENID_CONNECT_PROVIDERS: JSON.stringify([entry]),
    });
    const list = await admin.get(PROVIDERS);
    t.true(list.text.includes('Fixed by the environment variable OPENID_CONNECT_PROVIDERS'));
    t.is((await admin.get(`${PROVIDERS}/oidc/new`)).status, 404);
    t.is((await admin.post(`${PROVIDERS}/oidc/new`, typedFor(provider.origin))).status, 404);
    t.is((await admin.post(`${PROVIDERS}/oidc/okta/delete`)).status, 404);
    const page = await admin.get(`${PROVIDERS}/oidc/okta`);
    t.regex(page.text, /name="label"[^>]* disabled/);
    t.false(page.text.includes(SECRET));
    const saved = await admin.post(`${PROVIDERS}/oidc/okta`, { label: 'x', is_trusted: 'true' });
    t.is(saved.status, 303, saved.text);
    const authority = entry.discovery_document_uri;
    t.true(await isTrusted(database, { kind: 'oidc', provider_id: 'okta', authority }));
  });
}

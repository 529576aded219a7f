// The page behind “Forgot password?”: the same answer for everybody, a mail for those who may have
// one.

import test, { type ExecutionContext } from 'ava';
import { Mailer } from '../../../../lib/kit/mail/mailer.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { logInto } from '../../../../lib/testing/log.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { openSmtpServer, type SmtpServer } from '../../../support/network/smtp-server.ts';
import { configure } from '../../../support/web/portal.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';

const PATH = '/forgotten_password';
const NEW = 'staple staple staple';

interface Scene {
  readonly server: TestServer;
  readonly smtp: SmtpServer;
  /** Waits until all wishes are done. */
  readonly settled: () => Promise<void>;
}

async function open(t: ExecutionContext, kind: TestDatabaseKind): Promise<Scene> {
  const smtp = await openSmtpServer(t);
  const means = { counters: new Counters(), log: logInto([]) };
  const mails = new Mailer(smtp.url, 'vpn@example.com', means);
  t.teardown(() => mails.stop());
  const settings = { ...smtp.settings, API_RATE_LIMIT: '100' };
  const server = await openServer(t, kind, settings, { mails });
  const settled = (): Promise<void> =>
    new Promise((resolve) => {
      mails.later(async () => resolve());
    });
  return { server, smtp, settled };
}

async function ask(server: TestServer, email: string) {
  const visitor = new Visitor(server);
  await visitor.get(PATH);
  return visitor.post(PATH, { email });
}

for (const kind of databaseKinds()) {
  test(`${kind}: a person gets a link by mail, and another password by it`, async (t) => {
    const { server, smtp } = await open(t, kind);
    await addPerson(server.database, 'ann@example.com');
    const visitor = new Visitor(server);
    t.true((await visitor.get('/')).text.includes(PATH));
    const typed = { email: 'ann@example.com', password: 'not this one', do: 'forgot' };
    const kept = (await visitor.post(PATH, typed)).text;
    t.regex(kept, /value="ann@example\.com"/, 'what was typed is kept');
    t.notRegex(kept, /not this one|on its way/);
    t.is((await ask(server, ' ANN@example.com ')).status, 200);
    await smtp.waitFor(1);
    const [mail] = smtp.mails;
    t.deepEqual(mail?.to, ['ann@example.com']);
    const [url = ''] = /http\S+one_time_links\S+/.exec(mail?.text ?? '') ?? [];
    t.true(url.startsWith(server.services.config.externalUrl));
    const path = new URL(url).pathname;
    t.regex((await visitor.get(path)).text, /another password/);
    const form = { password: NEW, password_confirmation: NEW };
    t.is((await visitor.post(path, form)).location, '/');
    t.is((await new Visitor(server).signIn('ann@example.com', NEW)).status, 303);
  });

  test(`${kind}: the answer is the same for everybody, and few get a mail`, async (t) => {
    const { server, smtp, settled } = await open(t, kind);
    const { database } = server;
    await addPerson(database, 'ann@example.com');
    await addPerson(database, 'sso@example.com', { password_hash: null });
    const disabled = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await addPerson(database, 'off@example.com', disabled);
    const answers = [];
    for (const email of ['ann@example.com', 'sso@example.com', 'off@example.com', 'x@y.z', 'x', ''])
      answers.push(await ask(server, email));
    const plain = answers.map(({ text }) =>
      text.replace(/(csrf-token" content|csrf_token" value)="[^"]*"/g, ''),
    );
    t.is(new Set(plain).size, 1);
    t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    await settled();
    t.deepEqual(
      smtp.mails.map(({ to }) => to),
      [['ann@example.com']],
    );
    t.is(await database.models.OneTimeLink.count(), 1);
  });

  test(`${kind}: nobody's letter box is flooded, and no address asks without end`, async (t) => {
    const { server, smtp, settled } = await open(t, kind);
    await addPerson(server.database, 'ann@example.com');
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1) statuses.push((await ask(server, 'ann@example.com')).status);
    t.deepEqual(statuses.slice(9), [200, 429, 429]);
    await settled();
    t.is(smtp.mails.length, 5);
    t.is(await server.database.models.OneTimeLink.count(), 1, 'the last link alone is good');
    t.is((await new Visitor(server).signIn('ann@example.com')).status, 303, 'nobody is locked out');
  });

  test(`${kind}: it is not offered where passwords are off or mail is not set up`, async (t) => {
    const { server } = await open(t, kind);
    await configure(server, { local_auth_enabled: false });
    const visitor = new Visitor(server);
    t.false((await visitor.get('/')).text.includes(PATH));
    t.is((await visitor.get(PATH)).status, 404);
    t.is((await visitor.post(PATH, { email: 'ann@example.com' })).status, 404);
    const without = await openServer(t, kind);
    const other = new Visitor(without);
    t.false((await other.get('/')).text.includes(PATH));
    t.is((await other.get(PATH)).status, 404);
  });
}

// The page of gateways: who may see it, which state each has, and that settings are text.

import test from 'ava';
import {
  currentRevision,
  newId,
  NO_REVISION,
  type Revision,
  recordBackup,
  recordEgress,
  recordHeartbeat,
  registerGateway,
} from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { fakeExplaining } from '../../../support/observe/fake-gateway.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators see the gateways, which the dashboard leads to`, async (t) => {
    const console = await openConsole(t, kind);
    await checkGuard(t, console, { pages: ['/gateways'] });
    t.true((await console.admin.get('/dashboard')).text.includes('href="/gateways"'));
    t.true((await console.admin.get('/gateways')).text.includes('No gateway yet'));
  });

  test(`${kind}: each has its state, its times and its settings`, async (t) => {
    const explaining = fakeExplaining();
    const { admin, database } = await openConsole(t, kind, {}, { explaining });
    const appliedRevision = await currentRevision(database);
    const enter = async (id: string, name: string, agoMs: number, revision: Revision) => {
      const startedAt = new Date(Date.now() - agoMs);
      const settings = JSON.stringify({
        EXTERNAL_URL: `https://${NASTY}`,
        HTTP_PORT: 80,
        [NASTY]: 1,
        NOT_SET: null,
      });
      await registerGateway(database, {
        id,
        name,
        startedAt,
        settings,
        publicKey: `key of ${name}`,
      });
      await recordHeartbeat(database, id, { seenAt: startedAt, appliedRevision: revision });
    };
    await enter(newId(), 'gone', 3_600_000, appliedRevision);
    await enter(newId(), 'late', 0, NO_REVISION);
    await enter(explaining.id, 'here', 0, appliedRevision);
    await recordEgress(database, explaining.id, { way: 'sockets', reason: `why ${NASTY}` });
    const page = await admin.get('/gateways');
    const states = [
      ...page.text.matchAll(/<h2 [^>]*>(\w+)<\/h2>\s*<span class="badge \w+"[^>]*>([^<]+)</g),
    ];
    t.deepEqual(states.map(([, name, state]) => `${name}: ${state}`).toSorted(), [
      'gone: stopped',
      'here: up to date',
      'late: behind',
    ]);
    t.is(page.text.split('It made this page').length, 2);
    t.is(page.text.match(/HTTP_<wbr>PORT[^]{0,200}?\b80\b/g)?.length, 3);
    t.false(page.text.includes('NOT_<wbr>SET'), 'what is not set is left out');
    t.true(page.text.includes('key of late'));
    t.is(page.text.match(/<dt>Schema<\/dt><dd class="mono">\d{4}-/g)?.length, 3);
    t.is(page.text.split('<dt>Packets leave</dt><dd>by sockets of the gateway<').length, 2);
    t.is(page.text.split('<dt>Packets leave</dt><dd>not known').length, 3);
    t.is(page.text.split('<dt>Why so</dt>').length, 2);
    checkText(t, page, 'the gateways');
  });

  test(`${kind}: the age of the last backup is said, with the command that makes one`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const said = async () =>
      /<h2 id="backups">[^]*?<span class="badge (\w+)">([^]*?)<\/span>/
        .exec((await admin.get('/gateways')).text)
        ?.slice(1)
        .map((text) => text.replaceAll(/<[^>]*>/g, ''));
    t.deepEqual(await said(), ['warning', 'none yet']);
    t.true(
      (await admin.get('/gateways')).text.includes('postern backup /backups --keep 14</code>'),
    );
    const gateway = {
      id: newId(),
      name: 'a',
      startedAt: new Date(),
      settings: '{}',
      publicKey: 'x',
    };
    await registerGateway(database, gateway);
    t.deepEqual(await said(), ['warning', 'none yet']);
    await recordBackup(database, new Date(Date.now() - 3 * 3_600_000 - 60_000));
    t.deepEqual(await said(), ['good', 'made 3 hours ago']);
    await recordBackup(database, new Date(Date.now() - 51 * 3_600_000));
    t.deepEqual(await said(), ['warning', 'made 2 days ago']);
  });

  test(`${kind}: what they should have alike and have not is said above`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    for (const [name, port] of [
      [NASTY, 1],
      ['b', 2],
    ] as const)
      await registerGateway(database, {
        id: newId(),
        name,
        startedAt: new Date(),
        settings: JSON.stringify({ WIREGUARD_PORT: port }),
      });
    const page = await admin.get('/gateways');
    t.regex(page.text, /differ in WIREGUARD_PORT: 1 at [^]*; 2 at b \([^]*Give all gateways/);
    checkText(t, page, 'the differences');
  });

  test(`${kind}: many gateways come in pages`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    for (let i = 0; i < 101; i += 1)
      await registerGateway(database, { id: newId(), name: `g${i}`, startedAt: new Date() });
    const count = (text: string): number => text.split('<section class="card"').length - 1;
    const first = await admin.get('/gateways');
    t.is(count(first.text), 100);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
    t.is(count((await admin.get(next)).text), 1);
  });
}

// The gateways of the database over the API.

import test from 'ava';
import {
  currentRevision,
  type Database,
  newId,
  recordEgress,
  recordHeartbeat,
  registerGateway,
} from '../../../../models/index.ts';
import { migrations } from '../../../../models/migrations/index.ts';
import { openServer } from '../../../support/api/server.ts';
import { fakeExplaining, fakeWatched } from '../../../support/observe/fake-gateway.ts';
import { databaseKinds } from '../../../support/database/databases.ts';

const GATEWAYS = '/v0/gateways';

async function enter(database: Database, name: string, agoMs = 0): Promise<string> {
  const id = newId();
  const startedAt = new Date(Date.now() - agoMs);
  const settings = JSON.stringify({ wireguardPort: 51_820 });
  await registerGateway(database, { id, name, startedAt, settings, publicKey: 'k'.repeat(44) });
  return id;
}

for (const kind of databaseKinds()) {
  test(`${kind}: gateways say whether they run, and obey what is written`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const old = await enter(database, 'old', 3_600_000);
    const here = await enter(database, 'here');
    const appliedRevision = await currentRevision(database);
    await recordHeartbeat(database, here, { seenAt: new Date(), appliedRevision });
    const reason = 'no TUN interface wg-postern: /dev/net/tun is missing';
    await recordEgress(database, here, { way: 'sockets', reason });
    const { status, body } = await send('GET', GATEWAYS);
    t.is(status, 200);
    t.deepEqual(
      body.data.map(({ id }: { id: string }) => id),
      [old, here],
    );
    const [first, second] = body.data;
    t.like(first, { name: 'old', running: false, up_to_date: false, egress: null });
    t.like(second, {
      name: 'here',
      running: true,
      up_to_date: true,
      public_key: 'k'.repeat(44),
      schema: migrations.at(-1)?.name,
      egress: 'sockets',
      egress_reason: reason,
      settings: { wireguardPort: 51_820 },
    });
  });

  test(`${kind}: the gateway that answers knows what it obeys before its next heartbeat`, async (t) => {
    const explaining = fakeExplaining();
    const watched = fakeWatched();
    let appliedRevision = 0;
    const reconciler = () => ({ ...watched.reconciler(), appliedRevision });
    const { send, database } = await openServer(
      t,
      kind,
      {},
      { explaining, watched: { ...watched, reconciler } },
    );
    const said = { startedAt: new Date(), settings: '{}', publicKey: 'k'.repeat(44) };
    await registerGateway(database, { id: explaining.id, name: 'here', ...said });
    await enter(database, 'other');
    const upToDate = async (): Promise<Record<string, boolean>> =>
      Object.fromEntries(
        (await send('GET', GATEWAYS)).body.data.map(
          (one: { name: string; up_to_date: boolean }) => [one.name, one.up_to_date],
        ),
      );
    t.deepEqual(await upToDate(), { here: false, other: false });
    appliedRevision = Number(await currentRevision(database));
    t.deepEqual(await upToDate(), { here: true, other: false });
  });

  test(`${kind}: the list comes in pages`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const ids = [
      await enter(database, 'a'),
      await enter(database, 'b'),
      await enter(database, 'c'),
    ];
    const first = await send('GET', `${GATEWAYS}?limit=2`);
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(String(first.headers['link'])) ?? [];
    const second = await send('GET', next);
    t.is(second.headers['link'], undefined);
    t.deepEqual(
      [...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id),
      ids,
    );
    t.is((await send('GET', `${GATEWAYS}?cursor=x`)).status, 422);
  });
}

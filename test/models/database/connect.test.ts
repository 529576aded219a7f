// Opening a database: what the options may say, and what is said of bad ones.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import { connectDatabase, migrate } from '../../../models/index.ts';
import { EncryptionKeyError } from '../../../models/storage/encryption.ts';
import { isDatabaseAway } from '../../../models/index.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { addUser } from '../fixtures.ts';

const encryptionKey = Buffer.alloc(32, 1);

test('a file is opened again with what was in it', async (t) => {
  const place = await makePlace(t, 'sqlite');
  const first = await openAt(t, place);
  await migrate(first);
  await addUser(first);
  await first.close();
  const second = await openAt(t, place);
  await migrate(second);
  t.is(await second.models.User.count(), 1);
});

test('two databases in memory are two', async (t) => {
  const place = { url: 'sqlite::memory:', encryptionKey };
  const [first, second] = [await openAt(t, place), await openAt(t, place)];
  await migrate(first);
  await migrate(second);
  await addUser(first);
  t.is(await second.models.User.count(), 0);
});

test('options that name no database, or a strange one, are refused', async (t) => {
  for (const [options, message] of [
    [{}, /needs a url or a host/],
    [{ url: null, host: null }, /needs a url or a host/],
    [{ url: 'postgres://host/name' }, /begins with sqlite:, mysql:\/\/ or mariadb:\/\//],
    [{ url: 'mysql://host/name?ssl=1' }, /takes no parameters/],
  ] as const)
    await t.throwsAsync(connectDatabase({ ...options, encryptionKey }), { message });
});

test('a key of the wrong length is refused before anything is opened', async (t) => {
  await t.throwsAsync(
    connectDatabase({ url: 'sqlite:/nowhere/at/all', encryptionKey: Buffer.alloc(31) }),
    { instanceOf: EncryptionKeyError },
  );
});

test('a server that is not there is reported as a database that is away', async (t) => {
  const error = await t.throwsAsync(
    connectDatabase({ url: 'mysql://root@127.0.0.1:1/none', encryptionKey }),
  );
  t.true(isDatabaseAway(error));
});

test('a file that cannot be made is an error that names it', async (t) => {
  await t.throwsAsync(connectDatabase({ url: 'sqlite:/dev/null/x.sqlite', encryptionKey }), {
    message: /\/dev\/null/,
  });
});

if (databaseKinds().includes('mariadb'))
  test('a server is named by its parts as well as by a url', async (t) => {
    const place = await makePlace(t, 'mariadb');
    const url = new URL(place.url);
    const database = await connectDatabase({
      host: url.hostname,
      port: Number(url.port),
      name: url.pathname.slice(1),
      user: 'root',
      password: '',
      encryptionKey,
    });
    t.is(database.kind, 'mysql');
    t.is((await migrate(database))[0], '0001-schema-of-1.0.0');
    await database.close();
  });

test('a server that takes the connection and says nothing is away, however long statements may take', async (t) => {
  t.timeout(60_000);
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `mysql://user:password@127.0.0.1:${port}/name`;
  const began = performance.now();
  const error = await t.throwsAsync(
    connectDatabase({ url, encryptionKey, silenceMs: 300_000 }).then((database) =>
      migrate(database),
    ),
  );
  t.true(isDatabaseAway(error));
  t.true(performance.now() - began < 30_000);
});

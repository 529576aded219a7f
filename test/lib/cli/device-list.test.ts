// The list of devices at the command line, filtered and sorted as the console filters and sorts it.

import test from 'ava';
import { noteClientFile, recordStatus, writeTransaction } from '../../../models/index.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const DAY_MS = 86_400_000;

for (const kind of databaseKinds())
  test(`${kind}: devices are listed by owner, group, state and age, and sorted`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database, { email: 'ann@b.example' });
    const bob = await addUser(database, { email: 'bob@b.example' });
    const devices = [];
    for (const [name, owner] of [
      ['zebra', ann],
      ['apple', ann],
      ['mango', bob],
      ['other', bob],
    ] as const)
      devices.push(await addDevice(database, owner, { name }));
    const [zebra, apple, mango] = devices.map(({ id }) => id) as [string, string, string];
    const seen = (deviceId: string, agoMs: number, bytes: number) => ({
      deviceId,
      latestHandshake: new Date(Date.now() - agoMs),
      remoteIp: null,
      remotePort: null,
      rxBytes: bytes,
      txBytes: 2 * bytes,
    });
    const reports = [seen(zebra, 1_000, 5), seen(apple, 91 * DAY_MS, 700), seen(mango, 5_000, 60)];
    await recordStatus(database, 'g', reports);
    await runTyped(database, 'group create --name team');
    await runTyped(database, 'group add bob@b.example --group team');
    const list = (options: string) =>
      runTyped(database, `device list ${options}`.trim().split(' '));
    const names = async (options: string): Promise<string> =>
      ((await list(options)).data as { name: string }[]).map(({ name }) => name).join(' ');

    t.is(await names(''), 'zebra apple mango other');
    t.is(await names('--owner ANN@b.example'), 'zebra apple');
    t.is(await names('--email ann@b.example'), 'zebra apple');
    t.is(await names('--group team'), 'mango other');
    t.is(await names('--online'), 'zebra mango');
    t.is(await names('--online --group team'), 'mango');
    t.is(await names('--online --owner ann@b.example'), 'zebra');
    t.is(await names('--stale 90d'), 'apple');
    t.is(await names('--stale 92d'), '');
    t.is(await names('--stale 2184h'), 'apple', '91 days');
    t.is(await names('--outdated'), '', 'of no file it is known');
    await noteClientFile(database, mango, '0'.repeat(64));
    await noteClientFile(database, zebra, '0'.repeat(64));
    t.is(await names('--outdated'), 'zebra mango');
    t.is(await names('--outdated --group team'), 'mango');
    t.is(await names('--outdated --owner ann@b.example'), 'zebra');
    t.is(await names('--outdated --sort name'), 'mango zebra');
    t.is(await names('--sort name'), 'apple mango other zebra');
    t.is(await names('--sort owner --online'), 'zebra mango');
    t.is(await names('--sort handshake'), 'zebra mango apple other');
    t.is(await names('--sort traffic'), 'apple mango zebra other');
    const { text, data } = await list('--sort traffic');
    t.regex(text, /^ID .* LATEST HANDSHAKE +DOWNLOADED +UPLOADED\n\S+ .* apple .* 1400 +700\n/);
    t.like(data, [{ name: 'apple', rx_bytes: 700, tx_bytes: 1_400 }]);
    t.false(Object.hasOwn(((await list('')).data as object[])[0]!, 'rx_bytes'));

    const where = { id: bob.id };
    await writeTransaction(database, (transaction) =>
      database.models.User.update({ disabled_at: new Date() }, { where, transaction }),
    );
    t.is(await names('--online'), 'zebra', 'the owner of the other is disabled');

    for (const [options, said] of [
      ['--sort size', /^--sort takes name, owner, address, handshake, traffic, not "size"$/],
      ['--stale soon', /^--stale takes days or hours, such as 90d or 12h, not "soon"$/],
      ['--stale 0d', /^--stale takes days or hours/],
      ['--stale 3651d', /^--stale takes days or hours/],
      ['--group nobody', /^there is no group nobody; see: /],
      ['--owner nobody@b.example', /^there is no user nobody@b\.example; see: /],
    ] as const)
      await t.throwsAsync(list(options), { message: said }, options);
  });

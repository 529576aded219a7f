// `postern status`: gateways, who is online and what is wrong in ten lines, and whether all is well.

import test from 'ava';
import {
  currentRevision,
  newId,
  readOrCreateConfiguration,
  recordHeartbeat,
  recordStatus,
  registerGateway,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { newDataDir, openLocally } from '../../support/api/local-socket.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

/** An endpoint that devices find, and keys that are made. */
const SETTINGS = { EXTERNAL_URL: 'https://vpn.example.com/' };

for (const kind of databaseKinds())
  test(`${kind}: gateways, devices and problems are said in ten lines, and whether all is well`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateConfiguration(database);
    const settings = { ...SETTINGS, DATA_DIR: newDataDir(t) };
    const status = () => runTyped(database, 'status', { settings });
    const linesOf = async (): Promise<string[]> =>
      (await status()).text.split('\n').map((line) => line.replaceAll(/ {2,}/g, '|'));
    const enter = async (name: string, agoMs = 0): Promise<string> => {
      const id = newId();
      await registerGateway(database, { id, name, startedAt: new Date(Date.now() - agoMs) });
      return id;
    };
    const beat = async (id: string): Promise<void> => {
      const appliedRevision = await currentRevision(database);
      await recordHeartbeat(database, id, { seenAt: new Date(), appliedRevision });
    };

    const [labels, ...none] = await linesOf();
    t.is(labels, 'WHAT|STATE|WHICH');
    t.is(none[0], 'devices|0 of 0 online');
    t.true(none.includes('problem|failed|gateway: no gateway runs on this database'));
    t.like(await status(), { isBad: true, data: { well: false, gateways: [], online: [] } });

    const here = await enter('here');
    const ann = await addUser(database, { email: 'ann@b.example', role: 'admin' });
    const laptop = await addDevice(database, ann, { name: 'laptop' });
    await addDevice(database, ann, { name: 'phone' });
    const seen = { remoteIp: null, remotePort: null, rxBytes: 0, txBytes: 0 };
    await recordStatus(database, here, [
      { deviceId: laptop.id, latestHandshake: new Date(), ...seen },
    ]);
    t.true((await linesOf()).includes('gateway|behind|here'));
    t.true(
      (await linesOf()).includes('problem|failed|gateway: here does not obey the last writes yet'),
    );

    await enter('gone', 3_600_000);
    await beat(here);
    const lines = await linesOf();
    t.is(lines[1], 'gateway|up to date|here');
    t.regex(lines[2] ?? '', /^gateway\|stopped\|gone, seen last at \d{4}-.*Z$/);
    t.is(lines[3], 'devices|1 of 2 online|ann@b.example/laptop');
    const well = await status();
    t.is(well.isBad, undefined, well.text);
    t.like(well.data, {
      well: true,
      gateways: [{ id: here, name: 'here', state: 'up to date' }, { state: 'stopped' }],
      devices: { all: 2, online: 1 },
      online: [{ id: laptop.id, owner: 'ann@b.example', name: 'laptop' }],
    });

    for (let i = 0; i < 20; i += 1) await enter(`other-${i}`, 3_600_000);
    await beat(here);
    const many = await linesOf();
    t.true(many.length <= 10, many.join('\n'));
    t.regex(many[4] ?? '', /^gateway\|19 more: .* gateway list$/);
  });

test('what the gateway here says of itself counts; one that was killed counts as none', async (t) => {
  const { services, config, close } = await openLocally(t, {
    readiness: () => ({ status: 'data_plane_down', tun: null, masquerade: false }),
  });
  const { database } = services;
  const settings = { ...SETTINGS, DATA_DIR: config.dataDir, WIREGUARD_TUN: 'off' };
  const id = newId();
  await registerGateway(database, { id, name: 'here', startedAt: new Date() });
  const beat = async (): Promise<void> => {
    const appliedRevision = await currentRevision(database);
    await recordHeartbeat(database, id, { seenAt: new Date(), appliedRevision });
  };
  await beat();
  const { text, isBad } = await runTyped(database, 'status', { settings });
  t.regex(
    text,
    /^problem +failed +gateway: The part of the gateway that passes packets has stopped/m,
  );
  t.true(isBad);
  await close();
  await beat();
  const after = await runTyped(database, 'status', { settings });
  t.notRegex(after.text, /has stopped/);
});

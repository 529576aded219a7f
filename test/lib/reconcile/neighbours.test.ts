// Devices that went to other gateways: reported once, of gateways that live, also when it was written
// late; and a gateway that is alone asks for nothing.

import test, { type ExecutionContext } from 'ava';
import { Neighbours } from '../../../lib/reconcile/neighbours.ts';
import { type Database, recordStatus, registerGateway } from '../../../models/index.ts';
import {
  databaseKinds,
  openDatabase,
  type TestDatabaseKind,
} from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';

const START = Date.UTC(2026, 10, 22, 10);
const SECOND = 1_000;

interface Scene {
  readonly database: Database;
  readonly neighbours: Neighbours;
  /** Ids of devices; the key of each is `key of` it. */
  readonly devices: readonly string[];
  /** A gateway starts, or is started again. */
  readonly registers: (gatewayId: string, atMs: number) => Promise<void>;
  /** A gateway reports a handshake. */
  readonly hears: (gatewayId: string, deviceId: string | undefined, atMs: number) => Promise<void>;
  /** What is reported at a time, after a look who lives. */
  readonly reported: (nowMs: number) => Promise<[string, number][]>;
}

async function scene(t: ExecutionContext, kind: TestDatabaseKind): Promise<Scene> {
  const database = await openDatabase(t, kind);
  const user = await addUser(database);
  const devices: string[] = [];
  for (let i = 0; i < 3; i += 1) devices.push((await addDevice(database, user.id)).id);
  const neighbours = new Neighbours({
    database,
    gatewayId: 'own',
    publicKeyOf: (id) => (devices.includes(id) ? `key of ${id}` : null),
  });
  const registers = async (id: string, atMs: number): Promise<void> => {
    await registerGateway(database, { id, name: id, startedAt: new Date(atMs) });
  };
  await registers('own', START);
  return {
    database,
    neighbours,
    devices,
    registers,
    hears: (gatewayId, deviceId, atMs) =>
      recordStatus(
        database,
        gatewayId,
        [
          {
            deviceId: deviceId ?? '',
            latestHandshake: new Date(atMs),
            remoteIp: '192.0.2.7',
            remotePort: 7,
            rxBytes: 1,
            txBytes: 1,
          },
        ],
        new Date(atMs),
      ),
    reported: async (nowMs) => {
      await neighbours.meet(nowMs);
      return [...(await neighbours.arrivals(nowMs))];
    },
  };
}

for (const kind of databaseKinds()) {
  test(`${kind}: each arrival at another gateway is reported once, our own never`, async (t) => {
    const { devices, registers, hears, reported } = await scene(t, kind);
    const [a, b, c] = devices;
    await registers('other', START);
    await registers('third', START);
    await hears('own', a, START + 5);
    await hears('other', b, START + 6);
    t.deepEqual(await reported(START + SECOND), [[`key of ${b}`, START + 6]]);
    t.deepEqual(await reported(START + 2 * SECOND), []);
    await hears('third', c, START + 2_100);
    t.deepEqual(await reported(START + 3 * SECOND), [[`key of ${c}`, START + 2_100]]);
    // It is handed over, renewed there, handed back, and over again.
    await hears('other', a, START + 3_100);
    t.deepEqual(await reported(START + 4 * SECOND), [[`key of ${a}`, START + 3_100]]);
    await hears('other', a, START + 4_100);
    t.deepEqual(await reported(START + 5 * SECOND), []);
    await hears('own', a, START + 5_100);
    t.deepEqual(await reported(START + 6 * SECOND), []);
    await hears('other', a, START + 6_100);
    t.deepEqual(await reported(START + 7 * SECOND), [[`key of ${a}`, START + 6_100]]);
  });

  test(`${kind}: a report that is written late is noticed, and so is one of a clock that is behind`, async (t) => {
    const { devices, registers, hears, reported } = await scene(t, kind);
    await registers('other', START + 60 * SECOND);
    t.deepEqual(await reported(START + 60 * SECOND), []);
    t.deepEqual(await reported(START + 61 * SECOND), []);
    await hears('other', devices[0], START + 50 * SECOND);
    t.deepEqual(await reported(START + 62 * SECOND), [
      [`key of ${devices[0]}`, START + 50 * SECOND],
    ]);
  });

  test(`${kind}: the first look tells of all, a later one goes back to the last that went well`, async (t) => {
    const { database, devices, registers, hears, reported } = await scene(t, kind);
    const [a, b] = devices;
    await registers('other', START);
    await hears('other', a, START - 86_400 * SECOND);
    t.deepEqual(await reported(START), [[`key of ${a}`, START - 86_400 * SECOND]]);
    const query = database.sequelize.query.bind(database.sequelize);
    database.sequelize.query = () => Promise.reject(new Error('away'));
    await t.throwsAsync(reported(START + SECOND));
    database.sequelize.query = query;
    await hears('other', b, START + 10 * SECOND);
    await registers('other', START + 600 * SECOND);
    t.deepEqual(await reported(START + 600 * SECOND), [[`key of ${b}`, START + 10 * SECOND]]);
  });

  test(`${kind}: who was not seen for a minute is no neighbour`, async (t) => {
    const { devices, registers, hears, reported } = await scene(t, kind);
    await registers('dead', START - 61 * SECOND);
    await hears('dead', devices[0], START - SECOND);
    t.deepEqual(await reported(START), []);
    await registers('dead', START);
    t.deepEqual(await reported(START + SECOND), [[`key of ${devices[0]}`, START - SECOND]]);
  });

  test(`${kind}: a gateway that is alone asks for nothing`, async (t) => {
    const { database, neighbours, registers } = await scene(t, kind);
    await neighbours.meet(START);
    const query = database.sequelize.query.bind(database.sequelize);
    let count = 0;
    const counted = (...args: Parameters<typeof query>): unknown => ((count += 1), query(...args));
    Object.assign(database.sequelize, { query: counted });
    for (let i = 1; i <= 5; i += 1) await neighbours.arrivals(START + i * SECOND);
    t.is(count, 0);
    // With a neighbour it asks, though not with every turn.
    await registers('other', START);
    await neighbours.meet(START + 6 * SECOND);
    count = 0;
    for (let ms = 6_000; ms < 8_000; ms += 100) await neighbours.arrivals(START + ms);
    t.is(count, 4);
  });

  test(`${kind}: a device that is not known yet is reported when it is`, async (t) => {
    const { devices, registers, hears, reported, database } = await scene(t, kind);
    await registers('other', START);
    const { id } = await addDevice(database, (await addUser(database)).id);
    await hears('other', id, START);
    t.deepEqual(await reported(START + SECOND), []);
    (devices as string[]).push(id);
    t.deepEqual(await reported(START + 2 * SECOND), [[`key of ${id}`, START]]);
  });

  test(`${kind}: a clock that is set back hides nothing`, async (t) => {
    const { devices, registers, hears, reported } = await scene(t, kind);
    await registers('other', START);
    t.deepEqual(await reported(START + 3_600 * SECOND), []);
    await registers('other', START);
    t.deepEqual(await reported(START + 10 * SECOND), []);
    await hears('other', devices[0], START + 9 * SECOND);
    t.deepEqual(await reported(START + 11 * SECOND), [
      [`key of ${devices[0]}`, START + 9 * SECOND],
    ]);
  });
}

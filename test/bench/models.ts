// How fast the models are: durable writes, reads one by one, rows in bulk, statuses in bulk.
//   node test/bench/models.ts [database url …]
// Without a url: SQLite on the disk of the working tree, then a private MariaDB beside it, both
// with their commits on the disk. Prints the median of five rounds; README.md of models quotes it.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import {
  connectDatabase,
  currentRevision,
  type Database,
  migrate,
  readDevices,
  recordStatus,
  writeTransaction,
} from '../../models/index.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { addUser, deviceValues, write } from '../models/fixtures.ts';

const ROUNDS = 5;
const DEVICES = 10_000;

interface Measure {
  name: string;
  unit: string;
  /** Does the work once and returns the figure. */
  run: () => Promise<number>;
}

async function measures(database: Database): Promise<Measure[]> {
  const { User, Device, Rule } = database.models;
  const owner = await addUser(database);
  const crowd = await addUser(database);
  for (let count = 0; count < DEVICES; count += 2500)
    await write(database, (transaction) =>
      Device.bulkCreate(
        Array.from({ length: 2500 }, () => deviceValues(crowd.id)),
        { transaction },
      ),
    );
  const ids = (await readDevices(database)).map(({ id }) => id);
  const addDevice = () =>
    writeTransaction(database, (transaction) =>
      Device.create(deviceValues(owner.id), { transaction }),
    );
  const addRule = () =>
    writeTransaction(database, (transaction) =>
      Rule.create({ destination: '10.0.0.1', user_id: owner.id }, { transaction }),
    );
  const reports = ids.map((deviceId) => ({
    deviceId,
    latestHandshake: new Date(),
    remoteIp: '192.0.2.1',
    remotePort: 51820,
    rxBytes: 1,
    txBytes: 1,
  }));
  return [
    rate('devices created, one by one', 1, 600, addDevice),
    rate('devices created, 8 at once', 8, 1000, addDevice),
    rate('rules created, one by one', 1, 600, addRule),
    rate('rules created, 8 at once', 8, 1000, addRule),
    rate('revisions read, one by one', 1, 2000, () => currentRevision(database)),
    rate('users found by id, 8 at once', 8, 2000, () => User.findByPk(owner.id)),
    time(`${DEVICES} devices read`, () => readDevices(database)),
    time(`${DEVICES} devices read by ids`, () => readDevices(database, { ids })),
    time('a page of 1000 devices read', () => readDevices(database, { limit: 1000 })),
    time('a page of 1000 instances read', () => Device.findAll({ limit: 1000, include: 'status' })),
    time(`${DEVICES} statuses recorded`, () => recordStatus(database, 'g', reports)),
  ];
}

function rate(
  name: string,
  parallel: number,
  count: number,
  work: () => Promise<unknown>,
): Measure {
  const run = async () => {
    let started = 0;
    const beganMs = performance.now();
    await Promise.all(
      Array.from({ length: parallel }, async () => {
        while (started++ < count) await work();
      }),
    );
    return count / ((performance.now() - beganMs) / 1000);
  };
  return { name, unit: 'per second', run };
}

function time(name: string, work: () => Promise<unknown>): Measure {
  const run = async () => {
    const beganMs = performance.now();
    await work();
    return performance.now() - beganMs;
  };
  return { name, unit: 'ms', run };
}

async function bench(name: string, url: string): Promise<void> {
  const database = await connectDatabase({ url, encryptionKey: randomBytes(32) });
  try {
    await migrate(database);
    print(`\n${name}\n`);
    const all = await measures(database);
    const figures = new Map<Measure, number[]>(all.map((measure) => [measure, []]));
    // Round by round, so that what else the machine does meets every measure alike.
    for (let round = 0; round < ROUNDS; round += 1)
      for (const measure of all) figures.get(measure)!.push(await measure.run());
    for (const [measure, values] of figures) {
      const median = values.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
      print(`${measure.name.padEnd(32)} ${median.toFixed(0).padStart(7)} ${measure.unit}\n`);
    }
  } finally {
    await database.close();
  }
}

async function benchBoth(): Promise<void> {
  const folder = mkdtempSync(join(import.meta.dirname, '.bench-'));
  const mariadb = await startMariadb([], folder);
  try {
    await bench('SQLite', `sqlite:${join(folder, 'postern.sqlite')}`);
    await runOnServer(mariadb.url, 'CREATE DATABASE bench');
    await bench('MariaDB', `${mariadb.url}bench`);
  } finally {
    await stopMariadb(mariadb);
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

print(`${cpus().length} × ${cpus()[0]?.model ?? '?'} (${arch()}), Node ${process.version}\n`);
const urls = process.argv.slice(2);
if (urls.length === 0) await benchBoth();
for (const url of urls) await bench(new URL(url).protocol, url);

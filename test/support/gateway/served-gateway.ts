// A whole gateway in the process of its test, for tests that judge no process: the database in a file,
// the worker that carries packets, and the server are those of `postern serve`. A start costs a
// quarter of that of a process, because everything is loaded and compiled already.

import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { prepareDataDir } from '../../../lib/installation/setup/first-start.ts';
import { encryptionKeys } from '../../../lib/installation/keys/encryption-keys.ts';
import { createLog } from '../../../lib/kit/process/log.ts';
import { serve } from '../../../lib/start/serve.ts';
import { connectDatabase, type Database, migrate } from '../../../models/index.ts';
import { configOf } from '../api/server.ts';
import { placeImage } from '../database/databases.ts';
import type { Lasting } from '../suite/lasting.ts';
import { environmentOf, type WholeGateway, wholeGateway } from './gateway-process.ts';

/** Least cost of bcrypt: passwords of tests protect nothing. */
const PASSWORD_COST = 4;
/** A busy machine may need longer than two seconds until a write is in force. */
const PATIENCE = 15;

/** A gateway in this process. */
export interface ServedGateway extends WholeGateway {
  /** Nothing else in this process may open its file: node:sqlite would release its locks. */
  readonly database: Database;
}

/** Starts a gateway in this process and waits until it is ready; `settings` as of a process. */
export async function serveHere(
  t: Lasting,
  settings: Record<string, string> = {},
): Promise<ServedGateway> {
  const environment = await environmentOf(t, settings);
  const folder = environment['DATA_DIR'] ?? '';
  const config = configOf(environment);
  prepareDataDir(config);
  const printed = join(folder, 'printed');
  const fd = openSync(printed, 'a');
  t.teardown(() => closeSync(fd));
  const out = Object.create(process.stdout, { fd: { value: fd }, isTTY: { value: false } });
  const log = createLog(config, out as typeof process.stdout);
  const file = join(folder, 'postern.sqlite');
  // The image was written with no key; none is made where a database is that has rows.
  const { key, older } = encryptionKeys(config);
  await placeImage(file);
  const database = await connectDatabase({
    url: `sqlite:${file}`,
    encryptionKey: key,
    olderEncryptionKeys: older,
    log,
  });
  t.teardown(() => database.close());
  await migrate(database);
  const running = await serve(config, database, log, {
    passwordCost: PASSWORD_COST,
    patience: PATIENCE,
  });
  t.teardown(() => running.stop());
  return { ...wholeGateway(environment, () => readFileSync(printed, 'utf8')), database };
}

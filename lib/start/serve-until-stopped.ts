// A gateway from its start until a signal stops it.

import process from 'node:process';
import type { Worker } from 'node:worker_threads';
import { type Config, readSupervisor } from '../../config/index.ts';
import { createGateway, notify } from '../../dataplane/index.ts';
import type { Database } from '../../models/index.ts';
import type { Log } from '../kit/process/log.ts';
import { Reports } from '../kit/process/supervisor.ts';
import { type Running, serve } from './serve.ts';

/** After this time a stop is ended by force. */
const STOP_MS = 4_800;
/** The time in which the log is still written before the process is killed. */
const LAST_WORDS_MS = 50;

/** What a gateway is started with. */
interface Start {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  /** The warnings of reading the settings. */
  readonly warnings: readonly string[];
  /** The workers that start already. */
  readonly workers: readonly Worker[];
}

/** Serves on an open, migrated database; resolves to the exit code. */
export async function serveUntilStopped({
  config,
  database,
  log,
  warnings,
  workers,
}: Start): Promise<number> {
  // The handlers are set from the beginning, so that an interrupted start is undone too. They stay
  // to the end, because a terminal and npm may both pass on the signal that a person typed once.
  const reports = new Reports(readSupervisor(), notify, log);
  let running: Running | null = null;
  let hasStopped = false;
  const asked = new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => resolve(name));
    // From a terminal SIGHUP means that the terminal was closed, from a supervisor: read again.
    process.on('SIGHUP', () => {
      if (!reports.isSupervised) resolve('SIGHUP');
      else if (running !== null) reports.reloading(running.reload);
    });
  });
  // The time runs from the signal on, even if the start still waits for a database.
  const stopping = asked.then((signal) => {
    log.info({ signal }, 'Postern stops');
    reports.stopping();
    setTimeout(() => {
      if (hasStopped && database.kind !== 'sqlite') {
        // Only connections to a server that does not answer are left, and nothing waits in them.
        log.warn({}, 'the database server does not answer; its connections are left');
        process.exit(0);
      }
      log.error({}, 'the stop took too long and is ended by force');
      // A normal exit would wait for threads that hang, such as one that waits for a lock.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_WORDS_MS);
    }, STOP_MS).unref();
  });
  running = await serve(config, database, log, {
    createGateway: (options) => createGateway(options, workers),
    warnings,
  });
  const { isAlive } = running;
  reports.ready(`Postern serves at ${running.address}`, isAlive);
  await stopping;
  await running.stop();
  hasStopped = true;
  log.info({}, 'Postern has stopped');
  return 0;
}

// A server on a fresh database, for tests that inject requests: an administrator with a token, and
// no socket. There is no data plane: every write counts as in force at once.

import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { RequestRoute, Server } from '@hapi/hapi';
import type { Config } from '../../../config/index.ts';
import { DOCUMENT_LIMITS } from '../../../lib/auth/documents.ts';
import { createToken } from '../../../lib/auth/tokens.ts';
import { addAllRoutes } from '../../../lib/kit/http/late-routes.ts';
import { Counters } from '../../../lib/kit/process/counters.ts';
import { createServer } from '../../../lib/start/server.ts';
import type { Services } from '../../../lib/services.ts';
import { type LogLine, logInto } from '../../../lib/testing/log.ts';
import { type Answer, injectInto, type Sent } from '../../../lib/testing/requests.ts';
import { configOf } from '../../../lib/testing/settings.ts';
import {
  type Database,
  readOrCreateConfiguration,
  writeTransaction,
} from '../../../models/index.ts';
import {
  databaseKinds,
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../database/databases.ts';
import { checkAnswer } from './openapi.ts';
import { sendOverSocket } from './socket.ts';

export { type LogLine, logInto } from '../../../lib/testing/log.ts';
export type { Answer, Sent } from '../../../lib/testing/requests.ts';
export { configOf } from '../../../lib/testing/settings.ts';

/** A database, and whether requests are injected or go over a socket. */
export type Surface = TestDatabaseKind | `${TestDatabaseKind} over a socket`;

/** A server under test. */
export interface TestServer {
  server: Server;
  services: Services;
  database: Database;
  log: LogLine[];
  /** The administrator in whose name requests are sent. */
  adminId: string;
  token: string;
  send: (method: string, path: string, sent?: Sent) => Promise<Answer>;
}

/** The e-mail of the administrator. */
export const ADMIN_EMAIL = 'admin@example.com';

/** Settings for a server that listens on a free port of this machine. */
export function listen(config: Config): Config {
  return { ...config, httpHost: '127.0.0.1', httpPort: 0 };
}

/** A public key that no other call returned. */
export function newKey(): string {
  return randomBytes(32).toString('base64');
}

/** Every database that this run tests, and the first of them over a socket too. */
export function surfaces(): Surface[] {
  return [...databaseKinds(), ...firstKind().map((kind) => `${kind} over a socket` as const)];
}

/** Every database that this run tests, without and with a socket: for one suite of the API. */
export function allSurfaces(): Surface[] {
  return databaseKinds().flatMap((kind) => [kind, `${kind} over a socket` as const]);
}

/** Starts a server on a fresh database; `settings` are environment variables. */
export async function openServer(
  t: ExecutionContext,
  surface: Surface,
  settings: Record<string, string> = {},
  services: Partial<Services> = {},
): Promise<TestServer> {
  const [kind] = surface.split(' ') as [TestDatabaseKind];
  const database = await openDatabase(t, kind);
  if (kind === surface) return serverOn(database, settings, services);
  const config = listen(services.config ?? configOf(settings));
  const opened = await serverOn(database, settings, { ...services, config });
  const { server, token } = opened;
  await server.start();
  t.teardown(() => server.stop({ timeout: 0 }));
  const socket = { host: '127.0.0.1', port: Number(server.info.port) };
  return {
    ...opened,
    send: async (method, path, sent = {}) =>
      conforming(method, path, await sendOverSocket(socket, method, path, { token, ...sent })),
  };
}

/** Starts a server on a database; several on one are like several processes. */
export async function serverOn(
  database: Database,
  settings: Record<string, string> = {},
  overrides: Partial<Services> = {},
): Promise<TestServer> {
  const log: LogLine[] = [];
  const services: Services = {
    // Tests send more requests than anybody; tests of the limits set one.
    config: configOf({ API_RATE_LIMIT: '0', ...settings }),
    database,
    log: logInto(log),
    counters: new Counters(),
    serverPublicKey: newKey(),
    whenApplied: async () => true,
    readiness: () => ({ status: 'ready', tun: null, masquerade: false }),
    // A provider of a test answers at once, but its process may be busy with other tests for seconds.
    discoveryLimits: { ...DOCUMENT_LIMITS, timeoutMs: 60_000 },
    passwordCost: 4,
    ...overrides,
  };
  await readOrCreateConfiguration(database);
  const adminId = await ensureAdmin(database);
  const { token } = await createToken(database, { email: ADMIN_EMAIL, name: 'test' });
  const server = createServer(services);
  // hapi counts a plugin as registered some microtasks after the call.
  await nextTurn();
  return {
    server,
    services,
    database,
    log,
    adminId,
    token,
    send: async (method, path, sent = {}) =>
      conforming(method, path, await injectInto(server, method, path, { token, ...sent })),
  };
}

/** All routes of a server, those included that come when they are asked for. */
export async function routesOf(server: Server): Promise<RequestRoute[]> {
  await server.inject('/');
  addAllRoutes(server);
  return server.table();
}

async function ensureAdmin(database: Database): Promise<string> {
  const { User } = database.models;
  const present = await User.findOne({ where: { email_key: ADMIN_EMAIL } });
  if (present !== null) return present.id;
  const { result } = await writeTransaction(database, (transaction) =>
    User.create({ email: ADMIN_EMAIL, role: 'admin' }, { transaction }),
  );
  return result.id;
}

/** Whatever a test asks, the answer must be one that the OpenAPI document describes. */
function conforming(method: string, path: string, answer: Answer): Answer {
  const error = checkAnswer(method, path, answer);
  if (error !== null) throw new Error(`${method} ${path} ${answer.status}: ${error}`);
  return answer;
}

/** A request and the exact answer to it. */
export interface Row {
  /** What docs/api.md says about it. */
  says: string;
  send: [method: string, path: string, sent?: Sent];
  status: number;
  /** Not checked if left out. */
  body?: unknown;
}

/** Sends each row and compares; the rows share one server. */
export async function answers(
  t: ExecutionContext,
  { send: sendOne }: Pick<TestServer, 'send'>,
  rows: readonly Row[],
): Promise<void> {
  for (const { says, send: sent, status, body } of rows) {
    const answer = await sendOne(...sent);
    t.is(answer.status, status, `${says}: ${answer.text}`);
    if (body !== undefined) t.deepEqual(answer.body, body, says);
  }
}

/** The fields of records that a refused request named. */
export function refused(errors: object): { errors: object } {
  return { errors };
}

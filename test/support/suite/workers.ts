// Test files whose gateways carry packets. They run with one worker like all others, and again with
// as many workers as WORKERS says.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { alone } from './alone.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** What a test uses that has as many workers as WORKERS says. */
const GATEWAYS =
  /new World\(|gatewayAndClients?\b|twoGateways\b|connected\w*\(|gatewayTest\(|loopback-gateway\.ts|scenes?\.ts/i;

/** Files of `dataplane` that say themselves how many workers each gateway has, and how many. */
export const withOwnWorkers: Readonly<Record<string, string>> = {
  'test/dataplane/worker/answers.test.ts': 'one',
  'test/dataplane/path/effect.test.ts': '1, 2 and 5',
  'test/dataplane/path/ended-list.test.ts': '1, 2 and 5',
  'test/dataplane/path/explain-worlds.test.ts': '1, 2 and 5',
  'test/dataplane/path/explain.test.ts': '1, 2 and 5',
  'test/dataplane/path/flow-list.test.ts': '1, 2 and 5',
  'test/dataplane/path/handed.test.ts': '2, which hand over to each other',
  'test/dataplane/path/mtu.test.ts': 'one',
  'test/dataplane/path/path.test.ts': '1 and 2',
  'test/dataplane/path/refusal-list.test.ts': '1, 2 and 5',
  'test/dataplane/slices.test.ts': 'one',
  'test/dataplane/wireguard/receive-handshakes.test.ts': 'tunnels alone, without any',
  'test/dataplane/wireguard/receive.test.ts': 'tunnels alone, without any',
  'test/dataplane/wireguard/send.test.ts': 'tunnels alone, without any',
  'test/dataplane/wireguard/trace.test.ts': '1, 2 and 5',
  'test/dataplane/wireguard/tunnel.test.ts': 'tunnels alone, without any',
  'test/dataplane/wireguard/under-load.test.ts': 'tunnels alone, without any',
  'test/dataplane/workers.test.ts': '1, 2, 3 and 5',
};

/** Files of `dataplane`, as paths from the root of the repository. */
export const ofDataplane = readdirSync(join(ROOT, 'test/dataplane'), { recursive: true })
  .map((name) => join('test/dataplane', name as string))
  .filter(
    (path) =>
      path.endsWith('.test.ts') &&
      !(path in withOwnWorkers) &&
      GATEWAYS.test(readFileSync(join(ROOT, path), 'utf8')),
  );

/**
 * End-to-end tests that find with several workers what they find with one, and why. What workers do
 * with each other is tested in memory (`ofDataplane`, `withOwnWorkers`). What only a kernel shows is in
 * the others: sockets and queues of the TUN that are shared, starts and changes.
 */
export const withOneWorker: Readonly<Record<string, string>> = {
  'test/e2e/branches.test.ts': 'networks of devices run in memory: dataplane/routes.test.ts',
  'test/e2e/capture.test.ts': 'has two workers always',
  'test/e2e/device-mtu.test.ts': 'sizes between workers are in dataplane/path/handed.test.ts',
  'test/e2e/diagnosis.test.ts': 'is about words; what workers say together is in trace.test.ts',
  'test/e2e/explain-elsewhere.test.ts': 'is about two gateways; dataplane/elsewhere.test.ts',
  'test/e2e/explain.test.ts': 'dataplane/path/explain-worlds.test.ts has 1, 2 and 5',
  'test/e2e/first-start.test.ts': 'has as many workers as a start without settings',
  'test/e2e/flow-log.test.ts': 'has one worker, and then two',
  'test/e2e/host-sockets.test.ts': 'starts no gateway',
  'test/e2e/interoperation.test.ts': 'is about the client',
  'test/e2e/lemonldap.test.ts': 'carries no packets',
  'test/e2e/left-over.test.ts': 'starts no gateway',
  'test/e2e/limits.test.ts':
    'one worker has a device and its limits; dataplane/path/limits.test.ts',
  'test/e2e/mariadb.test.ts': 'is about the database',
  'test/e2e/own-address.test.ts': 'has two workers always',
  'test/e2e/portal.test.ts': 'is about the portal, and what its file says to a client',
  'test/e2e/rest.test.ts': 'each worker waits as one alone does',
  'test/e2e/simplesamlphp.test.ts': 'carries no packets',
  'test/e2e/slept.test.ts': 'each worker reads the same clock; dataplane/restarts.test.ts',
  'test/e2e/sockets-clients.test.ts': 'is about the clients; sockets.test.ts runs with several',
  'test/e2e/sockets-memory.test.ts': 'each worker has memory of its own',
  'test/e2e/switches.test.ts': 'revocation.test.ts and dataplane/revocation.test.ts have two',
  'test/e2e/tcp-relay.test.ts': 'starts no gateway',
  'test/e2e/typescript.test.ts': 'the engine in TypeScript has one worker',
  'test/e2e/unreachable.test.ts': 'dataplane/path/unreachable.test.ts has 1 and 3',
  'test/e2e/workers.test.ts': 'has three workers always',
};

/** What the end-to-end tests leave out where WORKERS is set. */
export const withoutOneWorker =
  process.env['WORKERS'] === undefined ? [] : Object.keys(withOneWorker).map((file) => `!${file}`);

/** Files that want the machine for themselves. */
export const aloneWithWorkers = alone.filter(
  (file) =>
    ofDataplane.includes(file) || (file.startsWith('test/e2e/') && !(file in withOneWorker)),
);

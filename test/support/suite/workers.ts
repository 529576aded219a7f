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
  'test/dataplane/answers.test.ts': 'one',
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

/** End-to-end tests for which it does not matter how many workers there are, and why. */
export const withOneWorker: Readonly<Record<string, string>> = {
  'test/e2e/capture.test.ts': 'has two workers always',
  'test/e2e/extcap.test.ts': 'is about Wireshark; capture.test.ts has two workers always',
  'test/e2e/first-start.test.ts': 'has as many workers as a start without settings',
  'test/e2e/flow-log.test.ts': 'has one worker, and then two',
  'test/e2e/interoperation.test.ts': 'is about the client, and fetches it',
  'test/e2e/lemonldap.test.ts': 'carries no packets',
  'test/e2e/left-over.test.ts': 'starts no gateway',
  'test/e2e/mariadb.test.ts': 'is about the database',
  'test/e2e/portal.test.ts': 'is about the portal, and what its file says to a client',
  'test/e2e/simplesamlphp.test.ts': 'carries no packets',
  'test/e2e/typescript.test.ts': 'the engine in TypeScript has one worker',
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

// How command lines are run when their recordings are compared: by themselves, or with a gateway at
// its socket, which performs their operations. Another way is one more entry here: recordings and
// comparison stay as they are.

import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseConfig } from '../../config/index.ts';
import { obeyedHere, type Ended } from '../support/gateway/obeyed-command.ts';
import { parseCommandLine } from '../../lib/cli/cli.ts';
import { fingerprint } from '../../lib/start/fingerprint.ts';
import { EXIT_USAGE } from '../../lib/kit/process/usage-error.ts';
import { createServer } from '../../lib/start/server.ts';
import { Counters } from '../../lib/kit/process/counters.ts';
import { openLocalSocket } from '../../lib/kit/http/local-socket.ts';
import { localSocketPath } from '../../lib/kit/process/local-socket-path.ts';
import { logInto } from '../support/api/server.ts';
import type { Scene } from './scene.ts';
import type { OpenScene } from './scene-world.ts';

/** Runs what was typed, to its end. */
export type RunLine = (words: readonly string[], stdin: string) => Promise<Ended>;

/** A way to run command lines. */
export interface Transport {
  readonly name: string;
  /** Whether every scene has a gateway that performs operations. */
  readonly hasGateway: boolean;
  /** Whether it serves in a world. */
  readonly plays: (world: Scene['world']) => boolean;
  /** Gets ready for the lines of one scene; what it opens ends with the scene. */
  readonly open: (scene: OpenScene) => Promise<RunLine>;
}

/** The steps of lib/start/main.ts, in this process. */
function runIn({ settings }: OpenScene): RunLine {
  return async (words, stdin) => {
    const parsed = await parseCommandLine(words);
    if ('help' in parsed) return { status: 0, stdout: parsed.help, stderr: '' };
    if ('isVersion' in parsed)
      return { status: 0, stdout: `postern ${fingerprint()}\n`, stderr: '' };
    if ('error' in parsed) return { status: EXIT_USAGE, stdout: '', stderr: `${parsed.error}\n` };
    return obeyedHere(words, settings, stdin);
  };
}

const inProcess: Transport = {
  name: 'in the process',
  hasGateway: false,
  plays: () => true,
  open: async (scene) => runIn(scene),
};

/** Entries of the audit trail are equal but for the request, which a command alone does not have. */
const REQUEST = /"request_id":"[0-9a-f-]{36}"/g;

const atGateway: Transport = {
  name: 'at a gateway',
  hasGateway: true,
  // A scene that has a gateway is played at it in any case.
  plays: ({ gateway, configuration }) => gateway === undefined && configuration !== 'none',
  async open(scene) {
    await openSocket(scene);
    const run = runIn(scene);
    return async (words, stdin) => {
      const { stdout, ...ended } = await run(words, stdin);
      return { ...ended, stdout: stdout.replaceAll(REQUEST, '"request_id":null') };
    };
  },
};

/** A gateway at its socket that performs operations. It is not entered in the database. */
async function openSocket({ database, settings, ending }: OpenScene): Promise<void> {
  const { config } = parseConfig({ API_RATE_LIMIT: '0', ...settings }, (path) =>
    readFileSync(path, 'utf8'),
  );
  if (config === null) throw new Error('a gateway cannot start with the settings of the scene');
  const own = { log: logInto([]), counters: new Counters() };
  const server = createServer({
    ...own,
    config,
    database,
    serverPublicKey: Buffer.alloc(32, 7).toString('base64'),
    whenApplied: async () => true,
    readiness: () => ({ status: 'ready', tun: null, masquerade: false }),
  });
  // hapi counts a plugin as registered some microtasks after the call.
  await nextTurn();
  await server.initialize();
  const path = localSocketPath(config);
  ending.teardown(await openLocalSocket({ ...own, path, server: server.listener }));
}

/** Every way that serves here. */
export const transports: readonly Transport[] = [inProcess, atGateway];

// How command lines are run when their recordings are compared. There is one way today, in the
// process of the test. Another way is one more entry here: recordings and comparison stay as they are.

import { obeyedHere, type Ended } from '../support/gateway/obeyed-command.ts';
import { parseCommandLine } from '../../lib/cli/cli.ts';
import { fingerprint } from '../../lib/start/fingerprint.ts';
import { EXIT_USAGE } from '../../lib/kit/process/usage-error.ts';
import type { OpenScene } from './scene-world.ts';

/** Runs what was typed, to its end. */
export type RunLine = (words: readonly string[], stdin: string) => Promise<Ended>;

/** A way to run command lines. */
export interface Transport {
  readonly name: string;
  /** Gets ready for the lines of one scene; what it opens ends with the scene. */
  readonly open: (scene: OpenScene) => Promise<RunLine>;
}

/** The steps of lib/start/main.ts, in this process. */
const inProcess: Transport = {
  name: 'in the process',
  open: async ({ settings }) => {
    return async (words, stdin) => {
      const parsed = parseCommandLine(words);
      if ('help' in parsed) return { status: 0, stdout: parsed.help, stderr: '' };
      if ('isVersion' in parsed)
        return { status: 0, stdout: `postern ${fingerprint()}\n`, stderr: '' };
      if ('complaint' in parsed)
        return { status: EXIT_USAGE, stdout: '', stderr: `${parsed.complaint}\n` };
      return obeyedHere(words, settings, stdin);
    };
  },
};

/** Every way that serves here. */
export const transports: readonly Transport[] = [inProcess];

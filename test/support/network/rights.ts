// What the host's part of the data plane does without rights, tried as nobody, and with all rights,
// tried in a network namespace; each in a process of its own.

import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { command } from './namespaces.ts';

const NOBODY = 65_534;
const IO = new URL('../../../dataplane/io/', import.meta.url).href;
const MODULES = {
  masquerade: 'masquerade.ts',
  relayTable: 'relay-table.ts',
  message: 'netfilter/message.ts',
  expressions: 'netfilter/expressions.ts',
  table: 'netfilter/table.ts',
  events: 'kernel-events.ts',
  inspect: 'inspect.ts',
  system: 'system.ts',
  native: '../native/index.ts',
};

/**
 * Runs a piece of script with `module`, a file of dataplane/io, without rights; resolves to what it
 * comes to, null where that cannot be done.
 */
export async function withoutRights(
  t: ExecutionContext,
  file: string,
  script: string,
): Promise<unknown> {
  const url = new URL(`../../../dataplane/io/${file}.ts`, import.meta.url).href;
  const isRoot = process.getuid?.() === 0;
  const program = `import * as module from '${url}'; process.stdout.write(JSON.stringify(${script}));`;
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', program],
      isRoot ? { uid: NOBODY, gid: NOBODY } : {},
    );
    return JSON.parse(stdout) as unknown;
  } catch (error) {
    t.log('not as nobody:', String(error).split('\n')[0]);
    return null;
  }
}

/**
 * Runs a piece of script with the modules of `MODULES`, `command`, which runs a program, and `nft`,
 * which resolves to the output of the program nft; resolves to what the script comes to, null where
 * there are no rights.
 */
export async function inOwnNetwork(t: ExecutionContext, script: string): Promise<unknown> {
  if (process.getuid?.() !== 0) return null;
  const imports = Object.entries(MODULES).map(
    ([name, file]) => `import * as ${name} from '${IO}${file}';`,
  );
  const program = `${imports.join('\n')}
import { runNft } from '${IO}nft.ts';
import { command } from '${import.meta.resolve('./namespaces.ts')}';
const nft = async (...args) => (await runNft(args)).output;
const load = (text) => runNft(['-f', '-'], text);
process.stdout.write(JSON.stringify(${script}));`;
  try {
    await command('unshare', '--net', 'true');
  } catch (error) {
    t.log('no namespace:', String(error));
    return null;
  }
  const node = [process.execPath, '--input-type=module', '-e', program] as const;
  return JSON.parse((await command('unshare', '--net', ...node)).stdout) as unknown;
}

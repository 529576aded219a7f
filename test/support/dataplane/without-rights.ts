// What the host's part of the data plane does without rights: as root it is tried as nobody, in a
// process of its own.

import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';

const NOBODY = 65_534;

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

// The program of a release as people unpack it, for this machine.

import { join, resolve } from 'node:path';
import { ADDON } from '../../../tools/bundle.ts';
import { ownArchitecture } from '../../../tools/release/architectures.ts';
import { makeProgram } from '../../../tools/release/program.ts';
import { temporaryFolder } from '../suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** Makes the folder that the archive of a release holds, with the addon of this checkout. */
export async function releasedProgram(version: string): Promise<string> {
  const folder = join(temporaryFolder('postern-released-'), 'postern');
  await makeProgram(folder, version, ownArchitecture(), join(ROOT, ADDON));
  return folder;
}

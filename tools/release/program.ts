// The folder of a release: the bundle with its addon, the Node that runs it, what shells and `man`
// read, and the documents. The archive and the Debian package are made of it.

import { chmodSync, cpSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ADDON, DOCUMENTS, makeBundle } from '../bundle.ts';
import type { Architecture } from './architectures.ts';
import { addNode } from './node.ts';
import { sourceEpoch } from './notes.ts';
import { addShellFiles } from './shell-files.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Makes the folder of a release with the addon of its machine, in place of an older folder. */
export async function makeProgram(
  folder: string,
  version: string,
  architecture: Architecture,
  addon: string,
): Promise<void> {
  await makeBundle(folder, { version, architecture: architecture.name, addon });
  // A release starts where glibc is, and nowhere else.
  const prebuilt = join(folder, `node_modules/bcrypt/prebuilds/linux-${architecture.name}`);
  rmSync(join(prebuilt, 'bcrypt.musl.node'));
  chmodSync(join(prebuilt, 'bcrypt.glibc.node'), 0o644);
  chmodSync(join(folder, ADDON), 0o644);
  addNode(folder, architecture);
  addShellFiles(folder, version, sourceEpoch());
  for (const name of DOCUMENTS) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
}

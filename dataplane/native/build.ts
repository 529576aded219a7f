// Builds the addon; `npm ci` runs it as the install script of the package. The addon is optional:
// without it Postern runs on the TypeScript engine without a TUN, and says so at its start. But the
// installation fails if it would crash Postern.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { type BuiltAddon, linkedNodeFault } from './linked-node.ts';

/**
 * A folder with Node's headers, if there is one on the path: Node-API is stable, so the headers of
 * any Node >= 20 are enough, and nothing must be downloaded.
 */
function localHeaders(path: string): string | null {
  for (const folder of path.split(delimiter)) {
    const prefix = dirname(folder);
    if (existsSync(join(prefix, 'include', 'node', 'node_api.h'))) return prefix;
  }
  return null;
}

/** The addon, if it was built. */
function builtAddons(): BuiltAddon[] {
  const path = join(import.meta.dirname, 'build/Release/postern.node');
  return existsSync(path) ? [{ path, bytes: readFileSync(path) }] : [];
}

const environment = { ...process.env };
const headers = environment['npm_config_nodedir'] ?? localHeaders(environment['PATH'] ?? '');
const options = headers === null ? [] : [`--nodedir=${headers}`];
const built = spawnSync('node-gyp', ['rebuild', `--directory=${import.meta.dirname}`, ...options], {
  encoding: 'utf8',
  env: environment,
});
if (built.status !== 0) {
  const why = built.error?.message ?? `${built.stdout}${built.stderr}`.trim();
  process.stderr.write(
    `${why}\n\nThe native engine was not built; Postern will run on the TypeScript engine without a ` +
      'TUN. To build it, install a C++ compiler, make and python3 (Debian: apt-get install g++ make ' +
      'python3), then: npm run build:native\n',
  );
}

const fault = linkedNodeFault(builtAddons());
if (fault !== null) {
  process.stderr.write(fault);
  process.exitCode = 1;
}

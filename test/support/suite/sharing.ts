// Which test files share processes when `npm test` and test/all.sh run them. A file that is named on
// the command line has a process of its own, so that an error is easy to find.

import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withoutAlone } from './alone.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Where the files are written that AVA runs; each loads others. */
const FOLDER = 'test/artefacts/processes';

/** The patterns of AVA for all tests that need neither root nor a browser. */
export const unitTests = [
  'test/**/*.test.ts',
  '!test/e2e/**',
  '!test/browser/**',
  '!test/ops/**',
  '!test/attacks/**',
  '!test/artefacts/**',
  // Packages that it installs bring tests of their own.
  '!test/client/**',
  ...withoutAlone,
];

/** Files that want a process of their own, and why. */
export const inOwnProcess: Readonly<Record<string, string>> = {
  'test/attacks/crowding-strangers.test.ts': 'has hooks of its own',
  'test/attacks/greedy-captures.test.ts': 'weighs the memory of a gateway in its process',
  'test/dataplane/allocation.test.ts': 'weighs the heap',
  'test/dataplane/gateway/gateway.test.ts': 'has hooks of its own',
  'test/dataplane/io/host-sockets.test.ts': 'weighs the heap',
  'test/dataplane/io/release-memory.test.ts': 'weighs the heap',
  'test/dataplane/native/index.test.ts': 'searches all memory of its process',
  'test/dataplane/sockets/allocation.test.ts': 'weighs the heap',
  'test/dataplane/tcp/allocation.test.ts': 'weighs the heap',
  'test/dataplane/worker/warm-up-sockets.test.ts': 'finds code that is not compiled yet',
  'test/dataplane/worker/warm-up.test.ts': 'finds code that is not compiled yet',
  'test/e2e/capture.test.ts': 'has hooks of its own',
  'test/e2e/flow-log.test.ts': 'has hooks of its own',
  'test/e2e/host-sockets.test.ts': 'has hooks of its own',
  'test/e2e/lemonldap.test.ts': 'has hooks of its own',
  'test/e2e/mariadb.test.ts': 'has hooks of its own',
  'test/e2e/native.test.ts': 'has hooks of its own',
  'test/e2e/simplesamlphp.test.ts': 'has hooks of its own',
  'test/e2e/typescript.test.ts': 'has hooks of its own',
  'test/e2e/workers.test.ts': 'has hooks of its own',
  'test/lib/auth/tokens.test.ts': 'has a clock that is years ahead, which later ids keep',
  'test/lib/observe/explain/who.test.ts': 'checks how long the event loop is held',
  'test/lib/observe/history/keeping.test.ts':
    'has a clock that is years ahead, which later ids keep',
  'test/lib/observe/metrics/process.test.ts': 'checks how long the event loop is held',
  'test/ops/container.test.ts': 'has hooks of its own',
};

/** Of these files, as paths from the root of the repository, those that share processes. */
export function sharing(files: readonly string[]): string[] {
  return files.filter((file) => !(file in inOwnProcess));
}

/**
 * Deals files out to so many processes and writes for each of them a test file that AVA can run.
 * Returns what AVA is to run: those, and the files that share no process. `name` tells runs apart.
 */
export function share(name: string, files: readonly string[], count: number): string[] {
  const shared = sharing(files);
  return [
    ...writeProcesses(name, shared, count),
    ...files.filter((file) => !shared.includes(file)),
  ];
}

/**
 * Finds the test files that patterns of AVA name, as paths from the root of the repository. It looks
 * once, because other phases write into FOLDER meanwhile.
 */
export function findTests(patterns: readonly string[]): string[] {
  const isExclusion = (pattern: string): boolean => pattern.startsWith('!');
  return globSync(
    patterns.filter((pattern) => !isExclusion(pattern)),
    { cwd: ROOT, exclude: patterns.filter(isExclusion).map((pattern) => pattern.slice(1)) },
  ).toSorted();
}

/** Neighbours go to different processes, because files of one folder need like time. */
function writeProcesses(name: string, files: readonly string[], count: number): string[] {
  const folder = join(FOLDER, name);
  rmSync(join(ROOT, folder), { recursive: true, force: true });
  mkdirSync(join(ROOT, folder), { recursive: true });
  return Array.from({ length: Math.min(count, files.length) }, (_, index) => {
    const own = files.filter((_file, i) => i % count === index);
    const path = join(folder, `${index + 1}.test.ts`);
    writeFileSync(
      join(ROOT, path),
      '// Written by test/support/suite/sharing.ts for one run.\n\n' +
        `import { runInOneProcess } from '../../../support/suite/shared-process.ts';\n\n` +
        `await runInOneProcess(${JSON.stringify(own, null, 2)});\n`,
    );
    return path;
  });
}

// Test files that judge how soon something happens, and so want the machine for themselves: when
// test/all.sh runs phases at the same time, it leaves them to the end, and runs them one by one.
// With ALONE=later a configuration of AVA leaves them out; otherwise they are files like all others.
import process from 'node:process';

/** Paths from the root of the repository. */
export const alone = [
  'test/e2e/first-start.test.ts',
  'test/e2e/revocation.test.ts',
  'test/lib/reconcile/reconciler.test.ts',
  'test/lib/api/metrics.test.ts',
];

/** What `files` of a configuration names besides its own. */
export const withoutAlone = process.env['ALONE'] === 'later' ? alone.map((file) => `!${file}`) : [];

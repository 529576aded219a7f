// Test files that check how soon something happens, and so want the machine for themselves: when
// test/all.sh runs phases at the same time, it leaves them to the end, and runs them one by one. With
// ALONE=later a configuration of AVA leaves them out; otherwise they are files like all others.
import process from 'node:process';

/** Paths from the root of the repository. */
export const alone = [
  // Reads of a good token take no longer than they may beside a crowd.
  'test/attacks/crowding-strangers.test.ts',
  'test/attacks/crowding-user.test.ts',
  // Verifications of XML end after a time.
  'test/attacks/saml-logout.test.ts',
  'test/attacks/saml-stall.test.ts',
  // Workers are started again within seconds.
  'test/dataplane/gateway/worker-link.test.ts',
  // The time of a start.
  'test/e2e/first-start.test.ts',
  // A client is served 1.5 s after a restart began.
  'test/e2e/graceful-restart.test.ts',
  // TCP comes to its limit.
  'test/e2e/limits.test.ts',
  // A worker that died serves again within a second.
  'test/e2e/restart.test.ts',
  // Workers that end are back within 1.5 s.
  'test/e2e/workers.test.ts',
  // A stream whose datagrams must not be late.
  'test/e2e/revocation.test.ts',
  // How long the main thread is held, how many round trips a request makes, how long a provider may take.
  'test/lib/api/metrics.test.ts',
  'test/lib/api/round-trips.test.ts',
  'test/lib/auth/oidc/sign-in.test.ts',
  // Writes are in force within a part of a second.
  'test/lib/reconcile/reconciler.test.ts',
];

/** What `files` of a configuration names besides its own. */
export const withoutAlone = process.env['ALONE'] === 'later' ? alone.map((file) => `!${file}`) : [];

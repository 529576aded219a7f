// A write is answered once it is in force: after the handler, the answer waits until this process's
// data plane obeys the revision that the write made, for two seconds at most. Handlers know nothing
// of it; the code that writes sets the revision of the caller.
// docs/api.md#when-a-write-is-in-force.

import type { Plugin } from '@hapi/hapi';
import type { Revision } from '../../../models/index.ts';

/** Waits until the data plane obeys a revision; false when `timeoutMs` pass first. */
export type WhenApplied = (revision: Revision, timeoutMs: number) => Promise<boolean>;

const WAIT_MS = 2_000;

/** Holds back answers to writes until they are in force, and says whether they are. */
export const inForce: Plugin<{ readonly whenApplied: WhenApplied }> = {
  name: 'in-force',
  register(server, { whenApplied }) {
    server.ext('onPostHandler', async (request, h) => {
      const { app, response } = request;
      const revision = app.caller?.revision ?? null;
      if (revision === null || response instanceof Error) return h.continue;
      const isApplied = await whenApplied(revision, WAIT_MS);
      response.header('postern-revision', String(revision));
      response.header('postern-applied', String(isApplied));
      return h.continue;
    });
  },
};

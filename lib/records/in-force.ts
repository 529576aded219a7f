// A write is answered once it is in force: after the handler, the answer waits until this process's
// data plane obeys the revision that the write made, for two seconds at most. Handlers know nothing
// of it; whoever writes for a request notes the revision here.
// docs/api.md#when-a-write-is-in-force.

import type { Plugin, Request } from '@hapi/hapi';
import type { Revision } from '../../models/index.ts';

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Covers what this request wrote; absent when it wrote nothing. */
    revision?: Revision;
  }
}

/** Waits until the data plane obeys a revision; false when `timeoutMs` pass first. */
export type WhenApplied = (revision: Revision, timeoutMs: number) => Promise<boolean>;

const WAIT_MS = 2_000;

/** Notes the revision that covers a write of this request. */
export function noteRevision(request: Request, revision: Revision): void {
  request.app.revision = revision;
}

/** Holds back answers to writes until they are in force, and says whether they are. */
export const inForce: Plugin<{ readonly whenApplied: WhenApplied }> = {
  name: 'in-force',
  register(server, { whenApplied }) {
    server.ext('onPostHandler', async (request, h) => {
      const { app, response } = request;
      if (app.revision === undefined || response instanceof Error) return h.continue;
      const isApplied = await whenApplied(app.revision, WAIT_MS);
      response.header('postern-revision', String(app.revision));
      response.header('postern-applied', String(isApplied));
      return h.continue;
    });
  },
};

// The path that undoes what was done last, for the page that says that it is done.
// docs/state.md#undo.

import type { Request } from '@hapi/hapi';
import { callerOf } from '../../kit/http/request-caller.ts';
import { RECENT_ADMINISTRATION_MS } from '../../kit/records/session-life.ts';
import type { Offer } from '../../domain/undo/undo.ts';
import type { Job } from './jobs.ts';
import { signedInWithin } from './recent.ts';
import type { Web } from './web.ts';

/** Undoes a change. */
export const UNDO = '/undo';
/** Undoes what took the access of users away. */
export const UNDO_DISABLED = '/undo_disabled';

/** The path that undoes what a request has written; undefined where nothing can be undone. */
export async function undoPath(web: Web, request: Request): Promise<string | undefined> {
  const offer = await web.rooms.undos.offer(callerOf(request), new Date(request.info.received));
  return pathOf(web, request, offer);
}

/** By job: what can be undone of it, for as long as the job is known. */
const offersOfJobs = new WeakMap<Job, Promise<Offer | null>>();

/** The path that undoes what a job has written, for the session that agreed to it. */
export async function undoPathOfJob(
  web: Web,
  request: Request,
  job: Job,
): Promise<string | undefined> {
  const { begun } = job;
  if (begun === null || !job.isOver) return undefined;
  if (begun.caller.letIn?.sessionId !== request.auth.credentials.user?.sessionId) return undefined;
  const kept = offersOfJobs.get(job) ?? web.rooms.undos.offer(begun.caller, begun.at);
  offersOfJobs.set(job, kept);
  return pathOf(web, request, await kept);
}

async function pathOf(
  web: Web,
  request: Request,
  offer: Offer | null,
): Promise<string | undefined> {
  if (offer === null) return undefined;
  if (!offer.letsIn) return `${UNDO}/${offer.id}`;
  // Who signs in again has another session, which cannot undo it.
  const isRecent = await signedInWithin(web, request, RECENT_ADMINISTRATION_MS);
  return isRecent ? `${UNDO_DISABLED}/${offer.id}` : undefined;
}

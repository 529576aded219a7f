// What every page of the web interface is given: the server's services and the means to show pages,
// to redirect, and to tell something on the next page. One object, made once for a server.

import type { Sessions } from '../../auth/sessions.ts';
import type { Strangers } from '../../auth/strangers.ts';
import type { Captures } from '../../observe/capture/captures.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import type { Rooms } from '../../rooms.ts';
import type { Services } from '../../services.ts';
import type { Jobs } from './jobs.ts';
import type { LiveStatus } from '../parts/live-status.ts';
import type { Pages } from './answers.ts';

/** The web interface of one server. */
export interface Web extends Pick<RecordContext, 'recall' | 'fixed'> {
  readonly services: Services;
  /** The rooms of the server, whose writes are joined with those of the API. */
  readonly rooms: Rooms;
  readonly sessions: Sessions;
  readonly strangers: Strangers;
  readonly pages: Pages;
  readonly live: LiveStatus;
  readonly captures: Captures;
  readonly jobs: Jobs;
  /** The path of EXTERNAL_URL, without its last slash; links and redirects begin with it. */
  readonly outside: string;
}

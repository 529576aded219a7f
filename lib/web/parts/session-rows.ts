// The browsers in which a person is signed in, for their own account and for administrators.

import { type Session, within } from '../../../models/index.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import { IDLE_MS } from '../../kit/records/session-life.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords } from '../kit/words.ts';
import { browserName } from './browser-name.ts';
import { type NameOfProvider, providerNames } from './provider-names.ts';

/** A time: in words that its page keeps, so that nothing moves when the script reads them. */
interface TimeCell {
  /** ISO 8601. */
  readonly time: string;
  readonly ago: string;
}

/** A session as pages show it. */
export interface ShownSession {
  readonly id: string;
  readonly isOwn: boolean;
  readonly browser: string;
  readonly address: string;
  readonly method: string;
  /** For the partial table, as the next. */
  readonly seen: TimeCell;
  readonly began: TimeCell;
}

/** The sessions of a user that have not ended, the latest first; `own` is that of the request. */
export async function sessionsOf(web: Web, userId: string, own: string): Promise<ShownSession[]> {
  const { database } = web.services;
  const seen_at = within(IDLE_MS, Date.now());
  const found = await database.models.Session.findAll({
    where: { user_id: userId, state: 'open', seen_at },
    order: [['seen_at', 'DESC']],
  });
  const nameOf = await providerNames(web);
  return found.map((session) => shown(session, own, nameOf));
}

/** How somebody signed in, in words. */
export function methodName(method: string | null, nameOf: NameOfProvider): string {
  return method === LOCAL_METHOD || method === null ? say('sessions.password') : nameOf(method);
}

function shown(session: Session, own: string, nameOf: NameOfProvider): ShownSession {
  return {
    id: session.id,
    isOwn: session.id === own,
    browser: browserName(session.user_agent),
    address: session.address ?? say('device.unknown'),
    method: methodName(session.method, nameOf),
    seen: timeCell(session.seen_at),
    began: timeCell(session.inserted_at),
  };
}

function timeCell(time: Date): TimeCell {
  return { time: time.toISOString(), ago: agoInWords(time) };
}

// Makes the caller of a request: who was admitted, by which token or session, and from where. Each
// call returns one and the same caller, because it also holds the revision of the request's write.

import type { Request, UserCredentials } from '@hapi/hapi';
import { COMMAND_LINE, GATEWAY, type Origin, type Role } from '../../../models/index.ts';
import type { Caller, LetIn } from '../process/caller.ts';
import { isLocal } from './local-socket.ts';

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Who asks; made when a handler first wants to know it. */
    caller?: Caller;
  }
  interface UserCredentials {
    /** The user in whose name the request acts. */
    id: string;
    email: string;
    /** The token that let the request in; a browser has a session in its place. */
    tokenId?: string;
    /** What the token opens. */
    scopes?: readonly string[];
    sessionId?: string;
    role?: Role;
  }
}

/** Who asks, for handlers: before them nobody was admitted yet. */
export function callerOf(request: Request): Caller {
  const user = request.auth.credentials?.user;
  request.app.caller ??= {
    origin: originOf(request, user),
    letIn: letInBy(user),
    userId: user?.id ?? null,
    seesSecrets: user?.scopes?.includes('admin') ?? true,
    revision: null,
  };
  return request.app.caller;
}

/** The user in whose name a request acts. */
export function actorId(request: Request): string {
  const { userId } = callerOf(request);
  if (userId === null) throw new Error('a route without authentication asked for its actor');
  return userId;
}

function originOf({ app, raw }: Request, user: UserCredentials | undefined): Origin {
  const requestId = app.id;
  // A command of this host asks without a token.
  if (user === undefined && isLocal(raw.req)) return { ...COMMAND_LINE, requestId };
  const asked = { requestId, ...(app.address === undefined ? {} : { address: app.address }) };
  if (user === undefined) return { ...GATEWAY, ...asked };
  const { id: userId, email, tokenId, role } = user;
  return {
    actor: 'user',
    userId,
    email,
    isUnprivileged: role !== 'admin',
    ...(tokenId === undefined ? {} : { tokenId }),
    ...asked,
  };
}

function letInBy(user: UserCredentials | undefined): LetIn | null {
  if (user?.role === undefined) return null;
  const { tokenId = null, sessionId = null, role } = user;
  return { tokenId, sessionId, role };
}

// The caller of a request: what the audit trail gets to know of it, by what it was let in, and
// whether its answer may hold secrets.

import type { Request } from '@hapi/hapi';
import test from 'ava';
import { actorId, callerOf } from '../../../../lib/kit/http/request-caller.ts';
import type { Revision } from '../../../../models/index.ts';

type User = NonNullable<Request['auth']['credentials']['user']>;

function requestBy(user: User | undefined, address?: string): Request {
  const app = { id: 'r1', ...(address === undefined ? {} : { address }) };
  return { app, raw: { req: { socket: {} } }, auth: { credentials: { user } } } as Request;
}

const ann: User = { id: 'u1', email: 'ann@example.com', role: 'admin' };

test('a token is named, and only the scope of administrators sees secrets', (t) => {
  const request = requestBy({ ...ann, tokenId: 't1', scopes: ['read'] }, '192.0.2.1');
  t.deepEqual(callerOf(request), {
    origin: {
      actor: 'user',
      userId: 'u1',
      email: 'ann@example.com',
      isUnprivileged: false,
      tokenId: 't1',
      requestId: 'r1',
      address: '192.0.2.1',
    },
    letIn: { tokenId: 't1', sessionId: null, role: 'admin' },
    userId: 'u1',
    seesSecrets: false,
    revision: null,
  });
  t.true(callerOf(requestBy({ ...ann, tokenId: 't1', scopes: ['admin'] })).seesSecrets);
});

test('a session is named, and sees what its pages show', (t) => {
  const request = requestBy({ ...ann, sessionId: 's1', role: 'unprivileged' });
  const { origin, letIn, seesSecrets } = callerOf(request);
  t.deepEqual(letIn, { tokenId: null, sessionId: 's1', role: 'unprivileged' });
  t.like(origin, { isUnprivileged: true, requestId: 'r1' });
  t.false('address' in origin);
  t.false('tokenId' in origin);
  t.true(seesSecrets);
  t.is(actorId(request), 'u1');
});

test('nobody who is signed in writes for the gateway', (t) => {
  const request = requestBy(undefined, '192.0.2.1');
  t.deepEqual(callerOf(request), {
    origin: { actor: 'gateway', requestId: 'r1', address: '192.0.2.1' },
    letIn: null,
    userId: null,
    seesSecrets: true,
    revision: null,
  });
  t.throws(() => actorId(request), { message: /asked for its actor/ });
  t.is(callerOf({ ...request, auth: { credentials: null } } as unknown as Request).userId, null);
});

test('a request has one caller, who keeps what was written for it, and no request', (t) => {
  const request = requestBy(ann);
  const revision = 7 as Revision;
  callerOf(request).revision = revision;
  t.is(callerOf(request).revision, revision);
  t.notThrows(() => structuredClone(callerOf(request)), 'it is plain data');
});

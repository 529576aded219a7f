// How far the host of a connection has ended.

import test from 'ava';
import { SOCKET_ENDED, SOCKET_GONE, SOCKET_READABLE } from '../../../dataplane/socket-contract.ts';
import { Endings } from '../../../dataplane/sockets/endings.ts';

test('a half that has ended is read to its end, and is not over', (t) => {
  const endings = new Endings(2);
  t.false(endings.note(1, SOCKET_READABLE));
  t.false(endings.hasEnded(1));
  t.false(endings.note(1, SOCKET_ENDED));
  t.true(endings.hasEnded(1));
  t.false(endings.read(1));
  t.false(endings.isOver(1));
});

test('who is gone is over when all was read, in whichever order', (t) => {
  const endings = new Endings(2);
  t.true(endings.note(1, SOCKET_ENDED | SOCKET_GONE));
  t.false(endings.note(1, SOCKET_ENDED | SOCKET_GONE), 'it was said before');
  t.false(endings.isOver(1), 'something may be left');
  t.true(endings.read(1));
  t.false(endings.read(2));
  t.true(endings.note(2, SOCKET_GONE));
  t.true(endings.isOver(2));
});

test('a place that has another connection knows nothing of the one before', (t) => {
  const endings = new Endings(1);
  endings.note(1, SOCKET_ENDED | SOCKET_GONE);
  endings.begin(1);
  t.false(endings.hasEnded(1));
  t.false(endings.read(1));
});

// One customer with a whole /48 sends passwords by the hundred, each from an address of its own:
// others still sign in, and soon.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { configOf, listen, openServer } from '../support/api/server.ts';
import { addPerson, atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';

const EMAIL = 'ann@example.com';

test('a /48 full of strangers keeps nobody from signing in', async (t) => {
  const config = listen(configOf({ API_RATE_LIMIT: '0', TRUSTED_PROXIES: '127.0.0.1' }));
  // A fifteenth of a second for each: strangers come much sooner, and fill all places.
  const services = { config, passwordCost: 10 };
  const { server, database } = await openServer(t, 'sqlite over a socket', {}, services);
  await addPerson(database, EMAIL);
  const from = (address: string): Visitor => {
    const visitor = new Visitor(atGateway(server.info.uri));
    visitor.headers = { ...visitor.headers, 'x-forwarded-for': address };
    return visitor;
  };
  const ann = from('192.0.2.1');
  await ann.get('/');
  let [isOver, isFull] = [false, false];
  let sent = 0;
  const stranger = async (): Promise<void> => {
    const visitor = from('2001:db8:1::1');
    await visitor.get('/');
    while (!isOver) {
      // Each from a /64 of its own, and for an e-mail of its own: nothing counts them together.
      sent += 1;
      visitor.headers['x-forwarded-for'] = `2001:db8:1:${sent.toString(16)}::1`;
      const fields = { email: `nobody${sent}@example.com`, password: 'not this one, surely' };
      const { status } = await visitor.post('/auth/identity/callback', fields);
      isFull ||= status === 503;
    }
  };
  const crowd = Array.from({ length: 80 }, stranger);
  while (!isFull) await sleep(10);
  const answer = await ann.post('/auth/identity/callback', { email: EMAIL, password: PASSWORD });
  isOver = true;
  await Promise.all(crowd);
  t.is(answer.status, 303, answer.text);
});

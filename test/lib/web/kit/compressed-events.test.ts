// Events in gzip: each goes out at once, rows that are like earlier ones take little, and both
// streams end together.

import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip, gunzipSync } from 'node:zlib';
import test from 'ava';
import { compressEvents } from '../../../../lib/web/kit/compressed-events.ts';

test('each event can be read once it is sent, and the end is that of a gzip file', async (t) => {
  const events = new PassThrough();
  const reader = createGunzip();
  const compressed = compressEvents(events);
  compressed.pipe(reader.setEncoding('utf8'));
  for (const event of ['event: a\n\n', 'ü'.repeat(40_000), 'event: a\n\n']) {
    events.write(event);
    let heard = '';
    while (heard.length < event.length) heard += String((await once(reader, 'data'))[0]);
    t.is(heard, event);
  }
  events.end();
  await once(reader.resume(), 'end');
  t.true(compressed.closed);
  const whole = await buffer(compressEvents(Readable.from([Buffer.from('x'), Buffer.from('y')])));
  t.is(gunzipSync(whole).toString(), 'xy', 'its sums are right');
});

test('an event refers to those before it', async (t) => {
  const row = (i: number): string =>
    `data: {"name":"laptop of ann","path":"/devices/0123","rate":${i}}\n\n`;
  const sizes: number[] = [];
  const events = new PassThrough();
  const compressed = compressEvents(events);
  t.is((await once(compressed, 'data'))[0].length, 10, 'the head');
  for (let i = 0; i < 20; i += 1) {
    events.write(row(i));
    sizes.push((await once(compressed, 'data'))[0].length);
  }
  t.true(Math.max(...sizes.slice(1)) < 25, sizes.join(' '));
  compressed.destroy();
});

test('a viewer who leaves ends the events, and events that are cut off end the answer', async (t) => {
  for (const leaves of [true, false]) {
    const events = new Readable({ read: () => undefined });
    const compressed = compressEvents(events);
    compressed.resume();
    events.push('event: a\n\n');
    await once(compressed, 'data');
    const closed = Promise.all([once(events, 'close'), once(compressed, 'close')]);
    (leaves ? compressed : events).destroy();
    await closed;
    t.true(events.destroyed && compressed.destroyed);
    t.is(compressed.errored, null, 'it is no error');
  }
});

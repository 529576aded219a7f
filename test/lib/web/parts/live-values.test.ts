// What a page of values is sent: all of them first, later what changed, within so many bytes.

import test from 'ava';
import { liveValues, ValueNews } from '../../../../lib/web/parts/live-values.ts';

const parsed = (json: string | null): unknown => (json === null ? null : JSON.parse(json));

test('the first event has all values, later ones those that changed, and null where none did', (t) => {
  const news = new ValueNews();
  const list = [{ reason: 'rule drop', count: '7' }];
  t.deepEqual(parsed(news.next(liveValues({ online: '1', list }))), { online: '1', list });
  t.is(news.next(liveValues({ online: '1', list })), null);
  t.deepEqual(parsed(news.next(liveValues({ online: '2', list }))), { online: '2' });
  t.deepEqual(parsed(news.next(liveValues({ online: '2', list: [] }))), { list: [] });
});

test('however much changes, a page is sent less than a thousand bytes a second', (t) => {
  const news = new ValueNews();
  const listOf = (size: number, second: number) =>
    Array.from({ length: size }, (_, i) => ({ path: `/devices/${i}`, count: `${second + i}` }));
  const viewAt = (second: number) => ({
    online: String(second),
    drops: listOf(20, second),
    others: listOf(5, second),
    handshakes: listOf(60, second),
  });
  news.next(liveValues(viewAt(0)));
  const latest = new Map<string, number>();
  const waits = new Map<string, number>();
  let bytes = 0;
  for (let second = 1; second <= 60; second += 1) {
    const event = news.next(liveValues(viewAt(second))) ?? '';
    bytes += Buffer.byteLength(event);
    const names = Object.keys(JSON.parse(event) as object);
    t.true(names.includes('online'), 'a short value never waits');
    for (const name of names) {
      const waited = second - (latest.get(name) ?? 0);
      waits.set(name, Math.max(waits.get(name) ?? 0, waited));
      latest.set(name, second);
    }
  }
  t.true(bytes <= 60 * 1_000, `${bytes} bytes`);
  t.true(bytes >= 60 * 700, `${bytes} bytes: the room is used`);
  for (const name of ['drops', 'others', 'handshakes'])
    t.true((waits.get(name) ?? 99) <= 8, `${name} waited ${waits.get(name)} seconds`);
});

test('what is urgent does not wait, and takes the room of the lists', (t) => {
  const news = new ValueNews();
  const long = (second: number) => ({ list: `${second}${'x'.repeat(2_000)}` });
  const chart = (second: number) => liveValues({ chart: `${second}${'y'.repeat(200)}` });
  news.next(liveValues(long(0)), chart(0));
  const withList: number[] = [];
  for (let second = 1; second <= 9; second += 1) {
    const event = JSON.parse(news.next(liveValues(long(second)), chart(second)) ?? '') as object;
    t.true('chart' in event);
    if ('list' in event) withList.push(second);
  }
  t.deepEqual(withList, [1, 3, 6]);
});

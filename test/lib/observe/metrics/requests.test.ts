// Requests by method, route and status, and how long they took.

import test from 'ava';
import { RequestMetrics } from '../../../../lib/observe/metrics/requests.ts';
import { readExposition, valueOf } from '../../../support/observe/exposition.ts';

const NAME = 'http_request_duration_seconds';

test('answers are counted by status, durations fall into buckets that add up', (t) => {
  const requests = new RequestMetrics();
  const one = { method: 'get', route: '/v0/users/{id}' };
  for (const seconds of [0.0005, 0.001, 0.02, 3, 99])
    requests.add({ ...one, status: seconds > 1 ? 503 : 200, seconds });
  const families = readExposition([...requests.metrics()].join(''));
  t.is(valueOf(families, 'http_requests_total', { ...one, status: '200' }), 3);
  t.is(valueOf(families, 'http_requests_total', { ...one, status: '503' }), 2);
  const bucket = (le: string) => valueOf(families, `${NAME}_bucket`, { ...one, le });
  t.deepEqual(['0.001', '0.025', '1', '5', '10', '+Inf'].map(bucket), [2, 3, 3, 4, 4, 5]);
  t.is(valueOf(families, `${NAME}_count`, one), 5);
  t.is(valueOf(families, `${NAME}_sum`, one), 0.0005 + 0.001 + 0.02 + 3 + 99);
});

test('without requests the families are there and empty', (t) => {
  const families = readExposition([...new RequestMetrics().metrics()].join(''));
  t.deepEqual([...families.keys()], ['http_requests_total', NAME]);
});

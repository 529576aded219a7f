// FLOW_LOG: which texts name a collector, and which host and port each names.

import test from 'ava';
import { flowCollectorOf } from '../../config/flow-log.ts';

test('a collector is a host and a port', (t) => {
  const good: [text: string, host: string, port: number][] = [
    ['ipfix://collector:4739', 'collector', 4_739],
    ['ipfix://192.0.2.7:1', '192.0.2.7', 1],
    ['ipfix://[2001:db8::7]:65535', '2001:db8::7', 65_535],
  ];
  for (const [text, host, port] of good) t.deepEqual(flowCollectorOf(text), { host, port }, text);
});

test('no other text is one', (t) => {
  for (const text of [
    'off',
    'log',
    'ipfix://',
    'ipfix://:4739',
    'ipfix://[]:4739',
    'ipfix://collector',
    'ipfix://collector:0',
    'ipfix://collector:65536',
    'ipfix://2001:db8::7:4739',
    'ipfix://[192.0.2.7]:4739',
    'ipfix://192.0.2:4739',
    'ipfix://user@collector:4739',
    'ipfix://collector:4739/path',
    'ipfix://collector:4739\n',
  ])
    t.is(flowCollectorOf(text), null, text);
});

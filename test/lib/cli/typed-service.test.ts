// What is typed for a protocol with a port.

import test from 'ava';
import { readService } from '../../../lib/cli/typed-service.ts';

for (const [word, service] of [
  ['tcp/443', { protocol: 'tcp', port: '443' }],
  ['UDP/53', { protocol: 'udp', port: '53' }],
  ['icmp', { protocol: 'icmp' }],
  ['47', { protocol: '47' }],
  ['tcp/', { protocol: 'tcp', port: '' }],
  // It is for the gateway to refuse.
  ['tcp/1/2', { protocol: 'tcp', port: '1/2' }],
] as const)
  test(`${word} is read`, (t) => {
    t.deepEqual(readService(word), service);
  });

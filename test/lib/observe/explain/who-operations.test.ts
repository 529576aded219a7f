// What may be asked about who may reach an address. The answers: ../../../recorded/answers/who.http.

import test from 'ava';
import { readWho } from '../../../../lib/observe/explain/who-operations.ts';

test('an address is needed; a port goes with tcp and udp alone', (t) => {
  t.deepEqual(readWho({ destination: '10.0.0.5', protocol: 'tcp', port: 443 }), {
    asked: { destination: '10.0.0.5', protocol: 'tcp', port: 443 },
    errors: {},
  });
  t.deepEqual(readWho({ destination: 'FD12::0:1' }).asked?.destination, 'fd12::1');
  for (const [values, fields] of [
    [{}, ['destination']],
    [{ destination: '10.0.0.0/8' }, ['destination']],
    [{ destination: '10.0.0.5', port: 7 }, ['protocol']],
    [{ destination: '10.0.0.5', protocol: 'icmp', port: 7 }, ['port']],
  ] as const) {
    const { asked, errors } = readWho(values);
    t.is(asked, null);
    t.deepEqual(Object.keys(errors), [...fields]);
  }
});

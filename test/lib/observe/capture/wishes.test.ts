// The parameters of a capture: what may be asked for, what is left out, and what each means to the
// data plane.

import test from 'ava';
import { orderOf, validateWish } from '../../../../lib/observe/capture/wishes.ts';
import { inSentences } from '../../../../lib/kit/validation/validate.ts';
import { parametersOf, sentOnce } from '../../../../lib/kit/validation/query.ts';

const KEY = 'key';

const readWishes = (search: string) => validateWish(sentOnce(parametersOf(search)));

test('without parameters: headers of all packets, for a minute', (t) => {
  const { values, errors } = readWishes('');
  t.deepEqual(errors, {});
  t.deepEqual(values, { payload: false, duration: 60, bytes: 1_073_741_824 });
  t.deepEqual(orderOf(KEY, values), {
    publicKey: KEY,
    snaplen: 128,
    onlyRefused: false,
    destination: null,
    protocol: null,
    port: null,
  });
});

test('all parameters', (t) => {
  const { values, errors } = readWishes(
    '?destination=10.1.2.3/8&protocol=tcp&port=443&only=refused&payload=true&duration=3600&bytes=4096&other=1',
  );
  t.deepEqual(errors, {});
  t.is(values.duration, 3_600);
  t.is(values.bytes, 4_096);
  t.deepEqual(orderOf(KEY, values), {
    publicKey: KEY,
    snaplen: 65_535,
    onlyRefused: true,
    destination: { address: Uint8Array.of(10, 1, 2, 3), prefixBits: 8 },
    protocol: 'tcp',
    port: 443,
  });
  const six = readWishes('?destination=fd00::1&snaplen=20').values;
  t.is(orderOf(KEY, six).snaplen, 20);
  t.like(orderOf(KEY, six).destination, { prefixBits: 128 });
});

test('each error names its parameter', (t) => {
  const errorOf = (search: string): object => inSentences(readWishes(search).errors);
  const invalid = ['is invalid'];
  t.deepEqual(errorOf('?destination=example.com'), { destination: invalid });
  t.deepEqual(errorOf('?destination=10.0.0.0/33'), { destination: invalid });
  t.deepEqual(errorOf('?protocol=sctp'), { protocol: ['should be one of tcp, udp, icmp'] });
  t.deepEqual(errorOf('?port=0'), { port: ['must be greater than or equal to 1'] });
  t.deepEqual(errorOf('?port=65536'), { port: ['must be less than or equal to 65535'] });
  t.deepEqual(errorOf('?only=accepted'), { only: ['should be one of refused'] });
  t.deepEqual(errorOf('?snaplen=19'), { snaplen: ['must be greater than or equal to 20'] });
  t.deepEqual(errorOf('?payload=yes'), { payload: ['should be one of true, false'] });
  t.deepEqual(errorOf('?duration=3601'), { duration: ['must be less than or equal to 3600'] });
  t.deepEqual(errorOf('?duration='), { duration: invalid });
  t.deepEqual(errorOf('?bytes=4095&bytes=5000'), { bytes: invalid });
  t.deepEqual(errorOf('?bytes=1073741825'), {
    bytes: ['must be less than or equal to 1073741824'],
  });
  t.deepEqual(errorOf('?payload=true&snaplen=64'), { snaplen: ['must not be present'] });
  t.deepEqual(errorOf('?protocol=icmp&port=7'), { port: ['must not be present'] });
});

// Places in words.

import test from 'ava';
import { endpointInWords } from '../../../../lib/observe/diagnosis/place.ts';

test('a place is written as an endpoint', (t) => {
  t.is(endpointInWords({ address: '192.0.2.1', port: 5 }), '192.0.2.1:5');
  t.is(endpointInWords({ address: '2001:db8::7', port: 9 }), '[2001:db8::7]:9');
  t.is(endpointInWords(null), 'an unknown address');
});

// What doors answer with a capture: the name of its file.

import test from 'ava';
import { captureFileName } from '../../../lib/capture/answer.ts';

test('the name of a file holds nothing that ends a header or leaves a folder', (t) => {
  t.is(captureFileName('laptop'), 'laptop.pcapng');
  t.is(captureFileName('Ann’s "phone"\r\nx: y'), 'Ann-s-phone-x-y.pcapng');
  t.is(captureFileName('../../etc/passwd'), 'etc-passwd.pcapng');
  t.is(captureFileName('…'), 'device.pcapng');
  t.is(captureFileName('x'.repeat(255)).length, 107);
});

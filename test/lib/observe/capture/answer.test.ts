// What doors answer with a capture: its headers and the name of its file.

import test from 'ava';
import { asCapture, captureFileName } from '../../../../lib/observe/capture/answer.ts';

test('the name of a file holds nothing that ends a header or leaves a folder', (t) => {
  t.is(captureFileName('laptop'), 'laptop.pcapng');
  t.is(captureFileName('Ann’s "phone"\r\nx: y'), 'Ann-s-phone-x-y.pcapng');
  t.is(captureFileName('../../etc/passwd'), 'etc-passwd.pcapng');
  t.is(captureFileName('…'), 'device.pcapng');
  t.is(captureFileName('x'.repeat(255)).length, 107);
});

test('proxies hand on each packet at once and keep none', (t) => {
  const said: string[] = [];
  const answer = {
    type: (mime: string) => said.push(mime),
    header: (name: string, value: string) => said.push(`${name}: ${value}`),
  };
  t.is(asCapture(answer), answer);
  t.deepEqual(said, ['application/x-pcapng', 'x-accel-buffering: no', 'cache-control: no-store']);
});

// Options with slips.

import test from 'ava';
import { refuseUnknownOptions } from '../../../lib/testing/options.ts';

const known = ['database', 'tun', 'settings'];

test('what is known passes', (t) => {
  t.notThrows(() => refuseUnknownOptions('createGateway', { tun: 1, settings: {} }, known));
  t.notThrows(() => refuseUnknownOptions('createGateway', {}, known));
});

test('each option that is not known is named, and what was probably meant', (t) => {
  t.throws(() => refuseUnknownOptions('createGateway', { tin: 1, setings: 2, foo: 3 }, known), {
    instanceOf: TypeError,
    message:
      'createGateway has no option tin; is tun meant?\n' +
      'createGateway has no option setings; is settings meant?\n' +
      'createGateway has no option foo; it takes database, tun, settings',
  });
});

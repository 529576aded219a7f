// Whether proxies that the settings name are found.

import test from 'ava';
import { names } from '../../../../lib/installation/doctor/names.ts';

test('each name is looked up, and addresses are not', async (t) => {
  const trustedProxies = '10.0.0.1,localhost,no-such-host.invalid';
  const [here, gone, ...more] = await names({ trustedProxies });
  t.deepEqual(more, []);
  t.like(here, { check: 'trusted proxies', level: 'ok' });
  t.like(gone, { check: 'trusted proxies', level: 'warning' });
  t.regex(String(gone?.message), /no proxy is trusted by the name no-such-host\.invalid/);
  t.deepEqual(await names({ trustedProxies: null }), []);
});

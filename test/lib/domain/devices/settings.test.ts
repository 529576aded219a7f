// The five settings and their flags.

import test from 'ava';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import type { Configuration } from '../../../../models/index.ts';
import {
  defaultSettings,
  type Settings,
  shownSettings,
  storedSettings,
  validateSettings,
} from '../../../../lib/domain/devices/settings.ts';
import { inSentences } from '../../../../lib/kit/validation/validate.ts';
import { configOf, openServer } from '../../../support/api/server.ts';
import { defaultEndpoint } from '../../../../lib/domain/devices/settings.ts';

const own: Settings = {
  allowed_ips: ['10.0.0.0/8'],
  dns: null,
  endpoint: null,
  mtu: 1400,
  persistent_keepalive: null,
  use_default_allowed_ips: true,
  use_default_dns: false,
  use_default_endpoint: true,
  use_default_mtu: false,
  use_default_persistent_keepalive: false,
};
const defaults = {
  allowed_ips: null,
  dns: ['1.1.1.1'],
  endpoint: 'a.b',
  mtu: 1280,
  persistent_keepalive: 25,
};

test('a flag decides whose value is shown; lists are never null', (t) => {
  t.deepEqual(shownSettings(own, defaults), {
    allowed_ips: [],
    dns: [],
    endpoint: 'a.b',
    mtu: 1400,
    persistent_keepalive: null,
  });
});

test('values are checked on what the device would be', (t) => {
  const validated = (values: Partial<Settings>, present: Settings | null): object => {
    const errors = {};
    validateSettings(values, present, errors);
    return inSentences(errors);
  };
  const notPresent = ['must not be present'];
  const blank = ["can't be blank"];
  t.deepEqual(validated({}, null), {});
  t.deepEqual(validated({ mtu: 1280 }, null), { mtu: notPresent });
  t.deepEqual(validated({ mtu: 1280, use_default_mtu: true }, own), { mtu: notPresent });
  t.deepEqual(validated({ mtu: 1280 }, own), {});
  t.deepEqual(validated({ dns: [] }, null), {});
  t.deepEqual(validated({ use_default_endpoint: false }, own), { endpoint: blank });
  t.deepEqual(validated({ use_default_endpoint: false }, { ...own, endpoint: 'x' }), {});
  t.deepEqual(
    validated({ endpoint: null }, { ...own, use_default_endpoint: false, endpoint: 'x' }),
    {
      endpoint: blank,
    },
  );
  const unreadable = { use_default_endpoint: [messages.invalid] };
  validateSettings({ endpoint: 'x' }, null, unreadable);
  t.deepEqual(unreadable, { use_default_endpoint: [messages.invalid] });
});

test('an empty list is kept as none', (t) => {
  t.deepEqual(storedSettings({ dns: [], mtu: null, use_default_dns: false }), {
    dns: null,
    mtu: null,
    use_default_dns: false,
  });
});

test('devices get the interface’s MTU as far as a device may have it', async (t) => {
  for (const [mtu, expected] of [
    ['1420', 1420],
    ['1500', 1500],
    ['9000', 1500],
  ] as const) {
    const { send } = await openServer(t, 'sqlite', { WIREGUARD_MTU: mtu });
    const { default_client_mtu } = (await send('GET', '/v0/configuration')).body.data;
    t.is(default_client_mtu, expected);
    const echoed = { configuration: { default_client_mtu } };
    t.is((await send('PATCH', '/v0/configuration', { body: echoed })).status, 200);
  }
});

test('the endpoint is the host of EXTERNAL_URL until it is set', (t) => {
  t.is(
    defaultEndpoint(configOf({ EXTERNAL_URL: 'https://vpn.example.com:8443/x/' })),
    'vpn.example.com:51820',
  );
  t.is(
    defaultEndpoint(configOf({ EXTERNAL_URL: 'http://[fd00::9]:8080/', WIREGUARD_PORT: '5' })),
    '[fd00::9]:5',
  );
});

test('the MTU of the TUN is the default, as far as a client may have it', (t) => {
  const unset = { default_client_mtu: null } as Configuration;
  const mtuAt = (WIREGUARD_MTU: string): number | null =>
    defaultSettings(unset, configOf({ WIREGUARD_MTU })).mtu;
  t.is(mtuAt('1420'), 1420);
  t.is(mtuAt('9000'), 1500);
});

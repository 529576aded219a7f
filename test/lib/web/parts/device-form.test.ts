// The form of a device: what is typed, what of that goes to the rules, what is shown again.

import test from 'ava';
import {
  deviceFormView,
  deviceInput,
  EVERYTHING,
  textsFor,
  typedDevice,
  typedFrom,
  UNTYPED,
} from '../../../../lib/web/parts/device-form.ts';

const DEFAULTS = {
  allowed_ips: ['0.0.0.0/0', '::/0'],
  dns: [],
  endpoint: 'vpn.example.com:51820',
  mtu: 1280,
  persistent_keepalive: 0,
};
const flags = (value: boolean) => ({
  use_default_allowed_ips: value,
  use_default_dns: value,
  use_default_endpoint: value,
  use_default_mtu: value,
  use_default_persistent_keepalive: value,
});
const owner = { maySetNetwork: false, isAdministrator: false };

test('a form that nobody filled in asks for the defaults alone', (t) => {
  const texts = { name: '', description: '', routes: [], limit_down: '', limit_up: '' };
  t.deepEqual(deviceInput(UNTYPED, EVERYTHING), { ...texts, ...flags(true) });
});

test('lists are read with commas, spaces and lines between', (t) => {
  const payload = {
    name: ' laptop ',
    description: 'x',
    routes: '10.77.0.0/16, 2001:db8:77::/48',
    limit_down: '64000',
    mtu: ' ',
    allowed_ips: '10.0.0.0/8,\r\n 192.0.2.1\t,,fd00::/8 ',
    dns: ' None ',
    endpoint: ' host ',
    persistent_keepalive: 'none',
  };
  t.deepEqual(deviceInput(typedDevice({ payload }), EVERYTHING), {
    name: ' laptop ',
    description: 'x',
    routes: ['10.77.0.0/16', '2001:db8:77::/48'],
    limit_down: '64000',
    limit_up: '',
    ...flags(false),
    use_default_mtu: true,
    allowed_ips: ['10.0.0.0/8', '192.0.2.1', 'fd00::/8'],
    dns: [],
    endpoint: 'host',
    persistent_keepalive: '',
  });
});

test('an owner sets name and description, whatever was sent', (t) => {
  const wishes = {
    mtu: '1400',
    endpoint: 'x',
    ipv4: '100.64.0.9',
    limit_up: '64000',
    routes: '::5',
  };
  const payload = { name: 'n', description: 'd', ...wishes };
  const expected = { name: 'n', description: 'd' };
  t.deepEqual(deviceInput(typedDevice({ payload }), owner), expected);
  // The form may come to hold texts that are not for owners.
  t.deepEqual(deviceInput(Object.assign(typedDevice({ payload }), { note: 'x' }), owner), expected);
});

test('a text is for administrators alone, unless its question says that owners may set it', (t) => {
  const questions = {
    note: { label: 'device.mtu' },
    name: { label: 'field.name', ownersMaySet: true },
  } as const;
  t.deepEqual(textsFor(EVERYTHING, questions), ['note', 'name']);
  t.deepEqual(textsFor(owner, questions), ['name']);
});

test('the form of a device holds its own values, and none behind a default', (t) => {
  const device = {
    name: 'laptop',
    description: null,
    ...flags(true),
    ...DEFAULTS,
    use_default_allowed_ips: false,
    use_default_mtu: false,
    mtu: null,
  };
  const { name, description, settings } = typedFrom(device);
  t.deepEqual([name, description], ['laptop', '']);
  t.is(settings.allowed_ips, '0.0.0.0/0, ::/0');
  t.is(settings.mtu, 'none', 'of its own, whatever the default is');
  t.is(settings.endpoint, '');
});

test('errors stand at their fields, those of a flag at its setting', (t) => {
  const errors = { name: ['n'], base: ['b'], dns: ['d'], use_default_dns: ['f'], user_id: ['u'] };
  const inherited = { limit_up: '10 Mbit/s · of the user' };
  const view = deviceFormView(UNTYPED, DEFAULTS, { ...EVERYTHING, errors, inherited }) as {
    texts: { name: string; errors: string[]; placeholder?: string }[];
    base: string[];
    settings: { name: string; errors: string[]; placeholder: string }[];
  };
  t.deepEqual(
    view.texts.map((text) => [text.name, text.errors]),
    [
      ['name', ['n']],
      ['description', []],
      ['routes', []],
      ['limit_down', []],
      ['limit_up', []],
    ],
  );
  t.deepEqual(view.base, ['b']);
  const byName = Object.fromEntries(view.settings.map((one) => [one.name, one]));
  t.deepEqual(byName['dns']?.errors, ['d', 'f']);
  t.is(view.texts.at(-1)?.placeholder, '10 Mbit/s · of the user');
  t.is(byName['dns']?.placeholder, 'none · the client default');
  t.is(byName['allowed_ips']?.placeholder, '0.0.0.0/0, ::/0 · the client default');
  t.is(byName['persistent_keepalive']?.placeholder, '0 · the client default');
  const narrow = deviceFormView(UNTYPED, DEFAULTS, owner);
  t.deepEqual((narrow as { settings: unknown[] }).settings, []);
});

// Packets in words: places, protocols, and which ones can be explained.

import test from 'ava';
import {
  acceptHref,
  addressCell,
  explainHref,
  isUnasked,
  placeInWords,
  protocolInWords,
  serviceInWords,
} from '../../../../lib/web/parts/packet-words.ts';
import type { ShownRefusal } from '../../../../lib/observe/live/fields.ts';

test('places and protocols', (t) => {
  const services = [
    { protocol: 'tcp', port: 22 },
    { protocol: 'icmp', port: null },
    { protocol: null, port: null },
  ].map((one) => serviceInWords(one as ShownRefusal));
  t.deepEqual(services, [['TCP 22'], ['ICMP'], []]);
  t.is(placeInWords('10.0.0.5', 443), '10.0.0.5:443');
  t.is(placeInWords('fd00::5', 443), '[fd00::5]:443');
  t.is(placeInWords('fd00::5', null), 'fd00::5');
  t.deepEqual(['tcp', 'icmp', '47'].map(protocolInWords), ['TCP', 'ICMP', 'IP protocol 47']);
});

test('an address of IPv4 stays in one line', (t) => {
  const cells = ['10.0.0.5', '10.0.0.5:443', '[fd00::5]:443', 'fd00::5', null].map(addressCell);
  t.deepEqual(
    cells.map(({ isWhole }) => isWhole),
    [true, true, false, false, true],
  );
  t.is(cells.at(-1)?.text, 'not readable');
});

test('a packet can be explained whose ends, protocol and port are known', (t) => {
  const one = {
    device_id: 'd',
    direction: 'from_device',
    source: '100.64.0.2',
    destination: 'fd00::5',
    protocol: 'udp',
    port: 53,
  } as ShownRefusal;
  const href = (fields: Partial<ShownRefusal>): string | null => explainHref({ ...one, ...fields });
  t.is(
    href({}),
    '/explain?device_id=d&source=100.64.0.2&destination=fd00%3A%3A5&protocol=udp&port=53',
  );
  t.is(
    href({ direction: 'to_device', protocol: 'icmp', port: null }),
    '/explain?source=100.64.0.2&destination=fd00%3A%3A5&protocol=icmp',
  );
  t.is(
    href({ protocol: '47', port: null }),
    '/explain?device_id=d&source=100.64.0.2&destination=fd00%3A%3A5&protocol=47',
  );
  for (const fields of [
    { port: null },
    { protocol: 'tcp', port: null },
    { protocol: null },
    { device_id: null },
  ])
    t.is(href(fields), null);
});

test('what devices send by themselves is known by its destination', (t) => {
  const isOne = (destination: string | null, reason = 'inner_destination_reserved'): boolean =>
    isUnasked({ destination, reason } as ShownRefusal);
  for (const address of ['224.0.0.251', '255.255.255.255', '169.254.1.2', 'ff02::2', 'fe80::1'])
    t.true(isOne(address), address);
  for (const address of ['10.0.0.255', '127.0.0.1', 'fd00::1', '223.255.255.255', null])
    t.false(isOne(address), String(address));
  t.true(isOne('239.255.255.250', 'default_drop'), 'whatever refused it');
  t.false(isOne('169.254.169.254', 'inner_destination_metadata'), 'some program asked for it');
});

test('a packet of a device that rules refused leads to a rule that accepts it', (t) => {
  const one = {
    deviceId: 'd',
    isSent: true,
    destination: 'fd00::5',
    protocol: 'tcp',
    port: 22,
    reason: 'default_drop',
  };
  const href = (fields: Partial<typeof one> | object): string | null =>
    acceptHref({ ...one, ...fields });
  const to = '/rules/new?device_id=d&destination=fd00%3A%3A5';
  t.is(href({}), `${to}&protocol=tcp&port=22`);
  t.is(href({ protocol: 'icmp', port: null, reason: 'rule_drop' }), `${to}&protocol=icmp`);
  t.is(href({ protocol: '47', port: null }), to, 'no rule names such a protocol');
  for (const fields of [
    { deviceId: null },
    { isSent: false },
    { destination: null },
    { protocol: null },
    { port: null },
    { reason: 'quota_exceeded' },
    { reason: null },
  ])
    t.is(href(fields), null, JSON.stringify(fields));
});

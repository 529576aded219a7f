// `postern who`: who may reach an address, as people read it and as programs do.

import test from 'ava';
import type { LocalGateway } from '../../../lib/cli/ask-gateway.ts';
import type { Command } from '../../../lib/cli/run.ts';
import { whoMayReach } from '../../../lib/cli/who-command.ts';
import { addRule } from '../../models/fixtures.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { openLocally } from '../../support/api/local-socket.ts';

test('people are listed with their devices, services and rules', async (t) => {
  const { database, run } = await openLocally(t);
  const ann = await addUser(database, { email: 'ann@example.com' });
  const bob = await addUser(database, { email: 'bob@example.com' });
  await addDevice(database, ann.id, { name: 'laptop', ipv4: '100.64.9.9' });
  await addDevice(database, bob.id, { name: 'phone', ipv4: '100.64.9.10' });
  const off = { name: 'lost', ipv4: '100.64.9.11', disabled_at: new Date() };
  await addDevice(database, bob.id, off);
  await addRule(database, { action: 'drop', destination: '10.0.0.0/8' });
  const ports = { port_type: 'tcp', port_start: 443, port_end: 443 } as const;
  const rule = { action: 'accept', destination: '10.0.0.0/8', ...ports } as const;
  const { id } = await addRule(database, { ...rule, user_id: bob.id });
  const asked = await run('who', '10.2.0.5', 'tcp/443');
  const lines = String(asked?.text).split('\n');
  t.regex(lines[0]!, /^1 may reach 10\.2\.0\.5 by tcp\/443, \d+ may not$/);
  t.regex(
    lines[2]!,
    /^bob@example\.com +phone +tcp 443 +accept tcp 443 to 10\.0\.0\.0\/8, for bob/,
  );
  t.is(lines.length, 3);
  t.like((await run('who', '10.2.0.5', 'TCP/443', '--json'))?.data, {
    destination: '10.2.0.5',
    people: [{ email: 'bob@example.com', services: [{ port_range: '443', rule_id: id }] }],
  });
  t.regex(String((await run('who', '10.2.0.5', 'udp/53'))?.text), /^0 may reach .*, \d+ may not$/);
  const whole = await run('who', '10.2.0.5');
  t.regex(String(whole?.text), /phone +tcp 443 +accept/);
});

test('a device is named by its name; what is no address, no protocol or no port is refused', async (t) => {
  const { database, run } = await openLocally(t);
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  t.regex(String((await run('who', 'laptop'))?.text), /^1 may reach 100\.64\.9\.9, /);
  t.regex(String((await run('who', '100.64.9.200'))?.text), /whatever the rules say \(no_peer\)/);
  for (const [words, message] of [
    [['nothing'], /nothing/],
    [['10.0.0.5', 'tcp/70000'], /port: .*65535/],
    [['10.0.0.5', 'icmp/3'], /port: must not be present/],
    [['10.0.0.5', 'gre'], /protocol: .*such as 47/],
  ] as const)
    await t.throwsAsync(run('who', ...words) as Promise<unknown>, { message });
});

test('where an answer lists not all people, all are counted and the first ones are listed', async (t) => {
  const person = { user_id: 'a', email: 'ann@example.com', name: null, devices: [] };
  const data = {
    destination: '10.0.0.5',
    receiver_id: null,
    reason: null,
    people: [
      {
        ...person,
        other_device_count: 0,
        services: [{ protocol: 'icmp', port_range: null, rule_id: null }],
        services_left_out: 0,
      },
    ],
    people_left_out: 4,
    other_people_count: 2,
  };
  const gateway = { ask: async () => ({ data }) } as unknown as LocalGateway;
  const command = { operands: ['10.0.0.5'], options: {} } as unknown as Command;
  const { text } = await whoMayReach(gateway, command);
  t.regex(text, /^5 may reach 10\.0\.0\.5, 2 may not; the first 1 are listed\n/);
});

// Changes of every kind that stop a device are in force at a gateway that did not take them: the
// packets of a client there show it.

import type { ExecutionContext } from 'ava';
import { setDisabled } from '../e2e/people.ts';
import { until } from '../support/gateway/postern.ts';
import { Traffic } from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { IN_FORCE_MS, type World } from './several-gateways.ts';
import { LAN_OTHER } from './sites.ts';

const PORT = 7_430;
const EVERY_MS = 10;
/** A client whose session was ended begins a new one after at most this time. */
const BACK_MS = 30_000;

/** A change and what reverses it; the last one cannot be reversed. */
interface Kind {
  readonly name: string;
  readonly cut: () => Promise<unknown>;
  readonly restore?: () => Promise<unknown>;
}

/** Each kind of change is made at the first gateway; the client of the third one shows it. */
export async function everyKindIsInForceElsewhere(
  t: ExecutionContext,
  { sites, people }: World,
): Promise<void> {
  const { postern } = sites.sites[0]!;
  const { client, device, user } = people[2]!;
  let rule = '';
  const group = await postern.create('group', { name: 'elsewhere' });
  await postern.create('rule', { action: 'drop', destination: LAN_OTHER, group_id: group.id });
  const membership = `/v0/groups/${group.id}/members/${user.id}`;
  const kinds: Kind[] = [
    {
      name: 'a rule of the owner',
      cut: async () => {
        const fields = { action: 'drop', destination: LAN_OTHER, user_id: user.id };
        ({ id: rule } = await postern.create('rule', fields));
      },
      restore: () => postern.remove('rule', rule),
    },
    {
      name: 'a group with a rule',
      cut: () => postern.call('PUT', membership),
      restore: () => postern.call('DELETE', membership),
    },
    {
      name: 'another address',
      cut: () => postern.update('device', device.id, { ipv4: '100.64.99.99' }),
      restore: () => postern.update('device', device.id, { ipv4: device['ipv4'] }),
    },
    {
      name: 'another key',
      cut: () => postern.update('device', device.id, { public_key: makeKeyPair().publicKey }),
      restore: () => postern.update('device', device.id, { public_key: device['public_key'] }),
    },
    {
      name: 'an owner who is disabled',
      cut: () => setDisabled(postern, 'disable', String(user['email'])),
      restore: () => setDisabled(postern, 'enable', String(user['email'])),
    },
    { name: 'an owner who is removed', cut: () => postern.remove('user', user.id) },
  ];
  const watch = await new Traffic(sites.lan, 'watch', PORT, LAN_OTHER).ready();
  const beacon = new Traffic(client.host, 'beacon', PORT, EVERY_MS, LAN_OTHER);
  const lastAt = (): number => Number(watch.lines.at(-1)?.['at'] ?? 0);
  const isHeard = (): boolean => Date.now() - lastAt() < 100;
  for (const { name, cut, restore } of kinds) {
    await until(`${name}: heard before`, isHeard, BACK_MS);
    await cut();
    const answeredAt = Date.now();
    await until(`${name}: silent`, () => Date.now() - lastAt() > 1_000, 5_000);
    const tookMs = Math.max(0, lastAt() - answeredAt);
    t.log(`${name}: in force at another gateway after ${tookMs} ms`);
    t.true(tookMs < IN_FORCE_MS, `${name}: ${tookMs} ms`);
    await restore?.();
  }
  await beacon.stop();
  await watch.stop();
}

// A console that is in use: people, a group, devices, rules, a policy test, an API token and an
// invitation; one device sends, and the rules refuse some of its packets.

import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { make, type ServedStage } from './browser.ts';
import { carry } from './pictures.ts';

/** A person with devices, who may sign in. */
export const ANN = { email: 'ann.archer@example.com', password: 'correct horse battery' };

const LONG_MAIL = 'bartholomew.fernandez-garcia@branch-office.example.com';
const DEVICES = [
  { name: 'laptop', description: 'a ThinkPad, the grey one' },
  { name: 'phone' },
  { name: 'tablet' },
  { name: 'build server of the second floor' },
];
const TCP_443 = { port_type: 'tcp', port_range: '443' };
/** What the device that sends waits, so that its flows are there. */
const CARRY_MS = 500;

/** Fills a gateway; a device sends until the test ends. */
export async function furnish(t: ExecutionContext, stage: ServedStage): Promise<void> {
  const call = async (path: string, body: object): Promise<{ id: string }> => {
    const { status, body: answer } = await stage.gateway.call('POST', path, body);
    t.is(status, 201, path);
    return answer.data;
  };
  const password_confirmation = ANN.password;
  const user_id = await make(stage, 'user', { ...ANN, name: 'Ann Archer', password_confirmation });
  const invited = await make(stage, 'user', { email: LONG_MAIL });
  await call(`/v0/users/${invited}/enrolment`, { enrolment: {} });
  const { id: group_id } = await call('/v0/groups', { group: { name: 'Engineering' } });
  await stage.gateway.call('PUT', `/v0/groups/${group_id}/members/${user_id}`);
  for (const device of DEVICES)
    await make(stage, 'device', { ...device, user_id, public_key: key() });
  for (const rule of [
    { action: 'drop', destination: '10.0.0.0/8', description: 'nothing of the LAN' },
    { action: 'accept', destination: '10.2.0.5', group_id, ...TCP_443 },
    { action: 'accept', destination: '10.2.0.0/16', user_id: invited },
  ])
    await make(stage, 'rule', rule);
  const packet = { destination: '10.2.0.5', protocol: 'tcp', port: 443 };
  await call('/v0/policy_tests', {
    policy_test: { name: 'Ann reaches the wiki', user_id, ...packet, expect: 'accept' },
  });
  await call('/v0/api_tokens', { api_token: { name: 'report' } });
  await carry(t, stage, CARRY_MS);
}

const key = (): string => randomBytes(32).toString('base64');

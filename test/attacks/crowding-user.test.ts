// A user who is signed in and no administrator asks over 60 connections as fast as they are
// answered, or writes so. An administrator's good token hardly notices.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { newKey } from '../support/api/server.ts';
import { type GatewayProcess, startGateway } from '../support/gateway/gateway-process.ts';
import { type Asked, flood, slowReads } from '../support/network/crowd.ts';
import { atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';

const ANN = 'ann@example.com';
const CROWD = 60;
const CALM_MS = 3_000;
const CROWDED_MS = 3_000;

interface World {
  readonly gateway: GatewayProcess;
  readonly ann: Visitor;
  /** The form by which she edits her device. */
  readonly form: string;
}

/** A gateway, and a user who is signed in and has a device. */
async function open(t: ExecutionContext): Promise<World> {
  t.timeout(120_000);
  const gateway = await startGateway(t, { LOG_LEVEL: 'info' });
  const user = { email: ANN, password: PASSWORD, password_confirmation: PASSWORD };
  t.is((await gateway.call('POST', '/v0/users', { user })).status, 201);
  const ann = new Visitor(atGateway(gateway.url));
  t.is((await ann.signIn(ANN)).status, 303);
  await ann.get('/user_account');
  const made = await ann.post('/user_devices/new', { public_key: newKey() });
  const [, form] = /^(\/user_devices\/[0-9a-f-]{36})\/file$/.exec(made.location ?? '') ?? [];
  if (form === undefined) throw new Error(`${made.status}: ${made.text}`);
  // A gateway that just began still compiles what it does for the first time.
  await slowReads(gateway, 1_000);
  return { gateway, ann, form: `${form}/edit` };
}

function cookieOf({ cookies }: Visitor): string {
  return `cookie: ${[...cookies].map(([name, value]) => `${name}=${value}`).join('; ')}`;
}

function reads({ ann }: World): Asked {
  return { connections: CROWD, path: '/user_devices', headers: [cookieOf(ann)] };
}

function writes({ ann, form }: World): Asked {
  const description = 'd'.repeat(2_000);
  const fields = { csrf_token: ann.token, name: 'phone', description };
  return {
    connections: CROWD,
    method: 'POST',
    path: form,
    headers: [cookieOf(ann), 'content-type: application/x-www-form-urlencoded'],
    body: new URLSearchParams(fields).toString(),
  };
}

for (const [says, asked, passed] of [
  ['reads', reads, '200'],
  ['writes', writes, '303'],
] as const)
  test.serial(
    `a good token is served beside ${CROWD} connections by which a user ${says}`,
    async (t) => {
      const world = await open(t);
      const { gateway } = world;
      const calm = await slowReads(gateway, CALM_MS);
      const { result, end } = flood(gateway, asked(world));
      await sleep(500);
      const crowded = await slowReads(gateway, CROWDED_MS);
      end();
      const { statuses, ended } = await result;
      t.log(`p99 ${calm.toFixed(1)} ms calm, ${crowded.toFixed(1)} ms beside`, { statuses, ended });
      t.true((statuses[passed] ?? 0) >= 20, 'the user was served at first');
      t.true((statuses['429'] ?? 0) > CROWD);
      t.true(crowded <= 4 * calm, `${crowded} beside ${calm}`);
    },
  );

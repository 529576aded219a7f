// Strangers who ask as fast as they can, on every kind of path, with invented tokens and sessions.
// A refusal costs no more than an answer, and who has a good token hardly notices.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type GatewayProcess, startGateway } from '../support/gateway/gateway-process.ts';
import { cpuSecondsOf } from '../support/gateway/postern.ts';
import { flood, slowReads } from '../support/network/crowd.ts';
import { LastingFile } from '../support/suite/lasting.ts';

const INVENTED = 'x'.repeat(43);
const TOKEN = `authorization: Bearer pst_${INVENTED}`;
const SESSION = `cookie: postern-session=${INVENTED}`;
const REFUSALS = 2_000;
/** Connections of one address: this host stands for many, so it may have more than others. */
const CROWD = 250;
const CALM_MS = 3_000;
const CROWDED_MS = 3_000;

/** CPU milliseconds of the gateway for each answer. */
async function cost(gateway: GatewayProcess, count: number, path: string, headers: string[]) {
  const pid = gateway.pid ?? 0;
  const before = cpuSecondsOf(pid);
  const { result } = flood(gateway, { connections: 20, requests: count, path, headers });
  const { statuses } = await result;
  return { statuses, ms: ((cpuSecondsOf(pid) - before) * 1_000) / count };
}

/** All crowds come to one gateway, one after the other. */
const file = new LastingFile();
let limited: GatewayProcess;

async function open(settings: Record<string, string> = {}): Promise<GatewayProcess> {
  const gateway = await startGateway(file, { LOG_LEVEL: 'info', ...settings });
  // A gateway that just began still compiles what it does for the first time.
  await slowReads(gateway, 1_000);
  return gateway;
}

test.before(async () => {
  limited = await open();
});
test.after.always(() => file.end());

test.serial('a refusal costs no more than an answer, whatever is asked', async (t) => {
  t.timeout(120_000);
  const unlimited = await open({ API_RATE_LIMIT: '0' });
  // The answer to a bad token is as small as its refusal, and a refusal may end its connection.
  for (const [path, headers, atMost] of [
    ['/', [SESSION, 'accept: text/html'], 0.6],
    ['/nothing', ['accept: text/html'], 1],
    ['/v0/users', [TOKEN], 1.5],
  ] as const) {
    await cost(unlimited, 500, path, [...headers]);
    const [answers, refusals]: [number[], number[]] = [[], []];
    // The least of three, in turns: other work on this machine makes both dearer.
    for (let round = 0; round < 3; round += 1) {
      answers.push((await cost(unlimited, 500, path, [...headers])).ms);
      const refused = await cost(limited, REFUSALS, path, [...headers]);
      t.true((refused.statuses['429'] ?? 0) > REFUSALS * 0.9, JSON.stringify(refused.statuses));
      refusals.push(refused.ms);
    }
    const [answer, refusal] = [Math.min(...answers), Math.min(...refusals)];
    t.log(path, `${answer.toFixed(3)} ms an answer, ${refusal.toFixed(3)} ms a refusal`);
    t.true(refusal <= atMost * answer, `${path}: ${refusal} beside ${answer}`);
  }
});

for (const [says, path, headers] of [
  ['an unknown path', '/nothing', ['accept: text/html']],
  ['an invented token', '/v0/users', [TOKEN]],
  ['an invented session', '/user_account', [SESSION, 'accept: text/html']],
  ['the sign-in page', '/', ['accept: text/html']],
  ['health', '/healthz', []],
] as const)
  test.serial(
    `a good token is served beside ${CROWD} connections that ask for ${says}`,
    async (t) => {
      t.timeout(120_000);
      const calm = await slowReads(limited, CALM_MS);
      const { result, end } = flood(limited, { connections: CROWD, path, headers });
      await sleep(500);
      const crowded = await slowReads(limited, CROWDED_MS);
      end();
      const { statuses, ended } = await result;
      t.log(`p99 ${calm.toFixed(1)} ms calm, ${crowded.toFixed(1)} ms beside`, { statuses, ended });
      t.true(Object.values(statuses).reduce((sum, count) => sum + count, 0) > CROWD);
      t.true(crowded <= 4 * calm, `${crowded} beside ${calm}`);
    },
  );

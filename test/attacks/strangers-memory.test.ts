// Strangers begin many large bodies and never end them: at doors that read a body before they know
// who asks, for a provider that is not there too. Memory stays bounded.

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { startGateway } from '../support/gateway/gateway-process.ts';

const SAML = '/auth/saml/sp/consume/nobody';
const LOCAL = '/auth/identity/callback';
const CONNECTIONS = 400;
const BODY_BYTES = 1_000_000;
/** Before, 400 bodies held some 300 MB; the budget is 8 MB, and memory of a process is noisy. */
const GROWTH_MB_MAX = 110;

test('unfinished bodies of strangers hold little memory', async (t) => {
  const gateway = await startGateway(t, { LOG_LEVEL: 'info', API_RATE_LIMIT: '0' });
  const port = Number(new URL(gateway.url).port);
  const pid = gateway.pid;
  const memoryMb = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
  const before = memoryMb();
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined).resume();
    const isSaml = i % 4 !== 3;
    const bytes = isSaml ? BODY_BYTES : 65_000;
    const head = `POST ${isSaml ? SAML : LOCAL} HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${bytes}\r\n\r\n`;
    socket.write(`${head}a=${'x'.repeat(bytes - 10)}`);
  }
  let most = 0;
  for (let i = 0; i < 40; i += 1) {
    await sleep(100);
    most = Math.max(most, memoryMb());
  }
  t.log(`${Math.round(before)} MB, then ${Math.round(most)} MB`);
  t.true(most - before < GROWTH_MB_MAX, `grew by ${Math.round(most - before)} MB`);
  t.is((await fetch(`${gateway.url}/healthz`)).status, 200);
});

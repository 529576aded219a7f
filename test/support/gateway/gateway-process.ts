// A whole gateway as a process of its own on this machine, without a TUN, on free ports: for tests
// that need neither rights nor network namespaces.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerOf, type Answer, requestOf } from '../api/requests.ts';
import { programMain } from './bundle.ts';
import { CHEAP_PASSWORDS, COMPILE_CACHE, WITHOUT_WARM_UP } from './launcher.ts';
import { freePort, freeUdpPort } from '../network/free-port.ts';
import type { Lasting } from '../suite/lasting.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const START_MS = 60_000;

/** The administrator that the gateway makes at its first start. */
export const FIRST_ADMIN = { email: 'admin@example.com', password: 'correct horse battery' };

/** A gateway that serves as long as its test, or as its test file. */
export interface WholeGateway {
  /** Without a slash at its end. */
  readonly url: string;
  /** An administrator's API token. */
  readonly token: string;
  /** Its environment, for commands on the same data. */
  readonly environment: Record<string, string>;
  /** Everything that it printed. */
  readonly output: () => string;
  /** Asks the API in the administrator's name. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Runs a command of the command line on the same data; returns its standard output. */
  readonly command: (...args: string[]) => Promise<string>;
}

/** One that is a process of its own. */
export interface GatewayProcess extends WholeGateway {
  readonly pid: number | undefined;
}

/** Starts a gateway and waits until it is ready; `settings` are environment variables. */
export async function startGateway(
  t: Lasting,
  settings: Record<string, string> = {},
): Promise<GatewayProcess> {
  const environment = await environmentOf(t, settings);
  const child = run(environment, 'serve');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  t.teardown(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const gateway = wholeGateway(environment, () => output);
  await untilReady(
    gateway.url,
    () => child.exitCode !== null,
    () => output,
  );
  return { ...gateway, pid: child.pid };
}

/** The environment of a gateway with a folder of its own, which goes with the test, on free ports. */
export async function environmentOf(
  t: Lasting,
  settings: Record<string, string>,
): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-gateway-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  return {
    PATH: process.env['PATH'] ?? '',
    ...COMPILE_CACHE,
    ...CHEAP_PASSWORDS,
    DATA_DIR: folder,
    HTTP_PORT: String(port),
    EXTERNAL_URL: `http://127.0.0.1:${port}/`,
    WIREGUARD_PORT: String(await freeUdpPort()),
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'off',
    WIREGUARD_UAPI: 'off',
    DEFAULT_ADMIN_EMAIL: FIRST_ADMIN.email,
    DEFAULT_ADMIN_PASSWORD: FIRST_ADMIN.password,
    BOOTSTRAP_API_TOKEN: `pst_${randomBytes(32).toString('base64url')}`,
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'debug',
    ...settings,
  };
}

/** What tests do with the gateway that has this environment. */
export function wholeGateway(
  environment: Record<string, string>,
  output: () => string,
): WholeGateway {
  const url = `http://127.0.0.1:${environment['HTTP_PORT']}`;
  const token = environment['BOOTSTRAP_API_TOKEN'] ?? '';
  return {
    url,
    token,
    environment,
    output,
    call: (method, path, body) => ask(url + path, method, { token, body }),
    command: async (...args) => {
      const command = run(environment, ...args);
      let [printed, noted] = ['', ''];
      command.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      command.stderr.on('data', (chunk: Buffer) => (noted += chunk.toString()));
      const [status] = (await once(command, 'close')) as [number];
      if (status !== 0)
        throw new Error(`${args.join(' ')} ended with ${status}: ${printed}${noted}`);
      return printed.trim();
    },
  };
}

function run(env: Record<string, string>, ...args: string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [programMain(env), ...args], { cwd: ROOT, env });
}

/**
 * A gateway that tests share, as the next test wants it: without what the others made of users, groups,
 * rules and providers. What it printed before is left out.
 */
export async function asNew(gateway: WholeGateway): Promise<WholeGateway> {
  const { call, output } = gateway;
  for (const kind of ['users', 'groups', 'rules'])
    for (const { id, email } of (await call('GET', `/v0/${kind}`)).body.data)
      if (email !== FIRST_ADMIN.email) assertDone(await call('DELETE', `/v0/${kind}/${id}`));
  const configuration = {
    default_action: 'accept',
    openid_connect_providers: [],
    saml_identity_providers: [],
  };
  assertDone(await call('PATCH', '/v0/configuration', { configuration }));
  const { length } = output();
  return { ...gateway, output: () => output().slice(length) };
}

function assertDone({ status, text }: Answer): void {
  if (status >= 300) throw new Error(`${status} ${text}`);
}

async function untilReady(
  url: string,
  hasEnded: () => boolean,
  output: () => string,
): Promise<void> {
  const begun = performance.now();
  for (;;) {
    if (hasEnded()) throw new Error(`the gateway ended: ${output()}`);
    if (performance.now() - begun > START_MS) throw new Error(`not ready: ${output()}`);
    const status = await fetch(`${url}/readyz`).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await sleep(50);
  }
}

async function ask(
  url: string,
  method: string,
  sent: Parameters<typeof requestOf>[0],
): Promise<Answer> {
  const { headers, payload } = requestOf(sent);
  const response = await fetch(url, { method, headers, body: payload as string | null });
  return answerOf(response.status, Object.fromEntries(response.headers), await response.text());
}

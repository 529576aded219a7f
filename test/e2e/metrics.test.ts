// Metrics and log of a gateway with a real client: every expression of the dashboard has samples,
// promtool of Prometheus finds no error in the text or the expressions, counters show what was
// dropped, the log says when a device came and went, and neither holds a secret.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { expressionsOf, missingFrom, readDashboard } from '../support/observe/dashboard.ts';
import { readExposition, valueOf } from '../support/observe/exposition.ts';
import { LAUNCHER, PATH_TO_NODE, WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { type Data, Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN4_OTHER,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';

const METRICS_TOKEN = 'for-prometheus-and-nothing-else';

/** The own tool of Prometheus, with a text or the name of a file; fails if it finds an error. */
async function promtool(t: ExecutionContext, args: string[], input = ''): Promise<void> {
  const child = spawn('promtool', args);
  const [out, err] = [text(child.stdout), text(child.stderr)];
  child.stdin.end(input);
  const [code] = (await once(child, 'exit')) as [number];
  t.is(code, 0, `promtool ${args.join(' ')}: ${await out}${await err}`);
}

/** Every expression as a recording rule, which promtool then parses. */
function asRules(expressions: readonly string[]): string {
  const rules = expressions
    // The values that Grafana inserts before it asks.
    .map((one) => one.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'))
    .map((expr, i) => ({ record: `dashboard:${i}`, expr }));
  return JSON.stringify({ groups: [{ name: 'dashboard', rules }] });
}

async function metricsOf(postern: Postern, token: string): Promise<Response> {
  return fetch(`${postern.api}/metrics`, { headers: { authorization: `Bearer ${token}` } });
}

/** Log lines about a device, by message. */
function saidOf(postern: Postern, { device }: Person, message: string): Record<string, unknown>[] {
  return postern
    .logLines()
    .filter((line) => line['msg'] === message && line['device_id'] === device.id);
}

/**
 * Makes a backup beside the gateway that runs, as its timer does. A gateway without root has a PATH
 * that only it sees.
 */
function backUp(t: ExecutionContext, { environment }: Postern): void {
  const folder = mkdtempSync(join(tmpdir(), 'postern-backups-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  execFileSync(LAUNCHER, ['backup', folder, '--keep', '2'], {
    env: { ...environment, PATH: PATH_TO_NODE },
  });
}

async function checkMetrics(t: ExecutionContext, postern: Postern): Promise<string> {
  const response = await metricsOf(postern, METRICS_TOKEN);
  t.is(response.status, 200);
  const exposed = await response.text();
  const families = readExposition(exposed);
  const expressions = expressionsOf(readDashboard());
  for (const expression of expressions)
    t.deepEqual(missingFrom(families, expression, { withSamples: true }), [], expression);
  await promtool(t, ['check', 'metrics'], exposed);
  const folder = mkdtempSync(join(tmpdir(), 'postern-rules-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const rules = join(folder, 'rules.yml');
  writeFileSync(rules, asRules(expressions));
  await promtool(t, ['check', 'rules', rules]);
  return exposed;
}

test.serial(
  'a gateway with a client has samples for everything that the dashboard asks for',
  async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology('mx');
    t.teardown(() => topology.network.remove());
    const { gateway } = topology;
    const postern = new Postern(gateway, API_ADDRESS, {
      ...WITHOUT_WARM_UP,
      WIREGUARD_TUN: 'required',
      METRICS_TOKEN,
    });
    await postern.start();
    t.teardown(() => postern.stop());

    const drop: Data = await postern.create('rule', { action: 'drop', destination: LAN4_OTHER });
    const staged = { action: 'drop', destination: LAN4, enforced: false };
    const watched: Data = await postern.create('rule', staged);
    const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    t.teardown(() => alice.client.stop());
    const { host } = alice.client;
    t.true(await canPing(host, LAN4), 'a staged rule drops nothing');
    t.false(await canPing(host, LAN4_OTHER));
    const counters = async (): Promise<Record<string, unknown>> => {
      const { body } = await postern.call('GET', `/v0/rules/${drop.id}/counters`);
      return (body as { data: Record<string, unknown> }).data;
    };
    await until('the hits are known', async () => Number((await counters())['packets']) > 0);
    const hits = await counters();
    t.is(Number(hits['bytes']), Number(hits['packets']) * 84, 'pings of 84 bytes');
    t.true(Math.abs(Date.parse(String(hits['last_hit_at'])) - Date.now()) < 10_000);

    // Reasons and results of the dashboard that do not happen by themselves.
    t.is((await fetch(`${postern.api}/metrics`)).status, 401);
    t.is((await metricsOf(postern, 'somebody-else')).status, 401);
    const local = await gateway.run(
      process.execPath,
      '-e',
      "fetch('http://127.0.0.1:13000/metrics').then((r) => console.log(r.status))",
    );
    t.is(local.stdout.trim(), '200');
    backUp(t, postern);
    await until('the backup is known', async () => {
      const answer = await metricsOf(postern, METRICS_TOKEN);
      return /^wg_gateway_last_backup_seconds[ {]/m.test(await answer.text());
    });
    const exposed = await checkMetrics(t, postern);
    const families = readExposition(exposed);
    const labels = { rule_id: drop.id, action: 'drop' };
    t.is(valueOf(families, 'wg_gateway_rule_packets_total', labels), Number(hits['packets']));
    const ofWatched = { rule_id: watched.id, action: 'drop' };
    const name = 'wg_gateway_staged_rule_packets_total';
    t.true((valueOf(families, name, ofWatched) ?? 0) > 0, 'it counts what it would drop');
    const dropped = valueOf(families, 'wg_gateway_dropped_packets_total', { reason: 'rule_drop' });
    t.is(dropped, Number(hits['packets']));
    const own = { public_key: alice.keys.publicKey };
    t.true((valueOf(families, 'wireguard_peer_receive_bytes_total', own) ?? 0) > 148 + 3 * 84);
    const handshake = valueOf(families, 'wireguard_latest_handshake_seconds', own) ?? 0;
    t.true(Math.abs(handshake - Date.now() / 1_000) < 60);

    t.is(saidOf(postern, alice, 'a device connected').length, 1);
    await postern.remove('device', alice.device.id);
    await until('it is said', () => saidOf(postern, alice, 'a device disconnected').length > 0);
    const [came] = saidOf(postern, alice, 'a device connected');
    const [went] = saidOf(postern, alice, 'a device disconnected');
    t.like(came, { level: 'info', user_id: alice.user.id });
    t.like(went, { level: 'info', user_id: alice.user.id, reason: 'deleted' });

    await postern.stop();
    const secrets = [
      METRICS_TOKEN,
      postern.token,
      alice.keys.privateKey,
      String(alice.device['preshared_key']),
      'correct horse battery',
    ];
    for (const secret of secrets) {
      t.false(postern.output.includes(secret), 'in the log');
      t.false(exposed.includes(secret), 'in the metrics');
    }
    for (const line of postern.logLines().filter(({ level }) => level !== 'debug'))
      t.notRegex(
        JSON.stringify(line),
        /@example\.test|100\.64\.0\.2|"192\.0\.2\.2"/,
        'a name or an address',
      );
  },
);

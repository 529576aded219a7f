// Devices as interfaces of Wireshark: tshark lists them by the extcap program, and captures.

import { execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  TUNNEL4,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

const run = promisify(execFile);
const PROGRAM = resolve(import.meta.dirname, '../../config/wireshark/postern-extcap');
const PINGS = 5;
/** As root, Wireshark takes no program of a folder that is named. */
const NOBODY = 65_534;
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;
const NASTY = 'lap{top}\u001b[31m';

test.serial('tshark lists devices as interfaces, and captures from one', async (t) => {
  t.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'postern-extcap-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const topology = await buildTopology('ex');
  t.teardown(() => topology.network.remove());
  const postern = new Postern(topology.gateway, API_ADDRESS, WITHOUT_WARM_UP);
  await postern.start();
  t.teardown(() => postern.stop());
  const alice = await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`, 1);
  await postern.update('device', alice.device.id, { name: NASTY });
  await until('the tunnel is up', () => canPing(alice.client.host, TUNNEL4, 1), 20_000);

  const config = join(folder, 'extcap.json');
  writeFileSync(config, JSON.stringify({ url: postern.api, token: postern.token }));
  const program = join(folder, 'postern-extcap');
  copyFileSync(PROGRAM, program);
  const env = {
    ...process.env,
    HOME: folder,
    WIRESHARK_EXTCAP_DIR: folder,
    POSTERN_EXTCAP_CONFIG: config,
  };
  chmodSync(config, 0o644);
  await t.throwsAsync(run(program, ['--extcap-interfaces'], { env }), { message: /chmod 600/ });
  chmodSync(config, 0o600);
  for (const path of [folder, config, program]) chownSync(path, NOBODY, NOBODY);

  const { stdout } = await run(AS_NOBODY[0], [...AS_NOBODY.slice(1), 'tshark', '-D'], { env });
  const name = `postern-${alice.device.id}`;
  t.true(stdout.includes(`${name} (lap?top??[31m ${String(alice.device['ipv4'])})`), stdout);

  const fields = ['-T', 'fields', '-e', 'frame.comment', '-e', 'ip.dst'];
  const tshark = ['tshark', '-l', '-n', '-i', name, ...fields];
  const child = spawn(AS_NOBODY[0], [...AS_NOBODY.slice(1), ...tshark], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const running = async (): Promise<boolean> =>
    (await postern.metrics()).includes('\nwg_gateway_captures_running 1\n');
  await until('the capture runs', running);
  const { host } = alice.client;
  await host.run('ping', '-n', '-c', `${PINGS}`, '-i', '0.05', '-W', '2', LAN4);
  const pings = (): number =>
    output.split('\n').filter((line) => line === `accept; default action\t${LAN4}`).length;
  await until('all packets are read', () => pings() === PINGS);
  child.kill('SIGINT');
  await until('the capture has ended', async () => !(await running()));
  await t.throwsAsync(
    run(program, ['--capture', '--extcap-interface', 'postern-../users', '--fifo', '/dev/null'], {
      env,
    }),
    { message: /is no device of a gateway/ },
  );
});

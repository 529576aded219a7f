// The systemd unit under a systemd that was booted for it, with a release as docs/guides/systemd.md
// installs it: what it starts, what rights that has, and that it comes back from whatever ends or stops it.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { enrol } from '../e2e/people.ts';
import { releasedProgram } from '../support/gateway/release.ts';
import { bootMachine, type Machine } from '../support/gateway/systemd-machine.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { buildTopology, canPing, GATEWAY4, LAN4 } from '../support/network/topology.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const GUIDE = join(ROOT, 'docs/guides/systemd.md');
/** Not that of other tests, which may run beside it. */
const API_NETWORK = '10.255.91';
const STOP_MS_MAX = 5_000;
/** The watchdog's 30 seconds, a second's pause, and a start. */
const WATCHDOG_MS_MAX = 45_000;
/** CAP_NET_ADMIN, as /proc shows it. */
const NET_ADMIN = '0000000000001000';

test('the unit under a booted systemd', async (t) => {
  t.timeout(300_000);
  const topology = await buildTopology('pu', API_NETWORK);
  const postern = new Postern(topology.gateway, `${API_NETWORK}.2`);
  const { BOOTSTRAP_API_TOKEN, DEFAULT_ADMIN_EMAIL, DEFAULT_ADMIN_PASSWORD } = postern.environment;
  const settings = {
    EXTERNAL_URL: 'http://gateway.example.test:13000/',
    HTTP_HOST: '0.0.0.0',
    BOOTSTRAP_API_TOKEN,
    DEFAULT_ADMIN_EMAIL,
    DEFAULT_ADMIN_PASSWORD: `"${DEFAULT_ADMIN_PASSWORD}"`,
  };
  const program = await releasedProgram('1.1.0');
  const unit = readFileSync(join(program, 'config/systemd/postern.service'), 'utf8');
  const machine = await bootMachine(topology.gateway, program, {
    'etc/systemd/system/postern.service': unit,
    'etc/postern/postern.env': Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  });
  const { run } = machine;
  try {
    // A host without udev may keep the device to root.
    await run('chmod', '0600', '/dev/net/tun');
    await t.throwsAsync(run('systemctl', 'start', 'postern'));
    t.regex(
      await run('journalctl', '--unit=postern'),
      /no TUN interface wg-postern: \/dev\/net\/tun may not be opened by this user; run: chmod 0666/,
    );
    await run('systemctl', 'stop', 'postern');
    await run('chmod', '0666', '/dev/net/tun');
    await run('systemctl', 'enable', '--now', 'postern');
    t.is((await postern.readiness()).status, 'ready', 'it is started when it serves');
    const { MainPID: pid } = await show(machine);
    const status = await run('cat', `/proc/${pid}/status`);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      t.true(status.includes(`${set}:\t${NET_ADMIN}\n`), `${set} in ${status}`);
    t.regex(status, /^NoNewPrivs:\t1$/m);
    t.notRegex(status, /^(Uid|Gid):.*\t0\b/m);
    t.regex(await run('cat', `/proc/${pid}/limits`), /^Max core file size +0 +0 /m);
    t.true((await run('journalctl', '--identifier=postern')).includes('Postern serves'));

    const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    // A client whose gateway forgot its session finds out when nothing has been answered for 15 s.
    const passes = (): Promise<void> =>
      until('packets pass', () => canPing(alice.client.host, LAN4), 30_000);
    await passes();
    await run('systemctl', 'reload', 'postern');
    t.like(await show(machine), { ActiveState: 'active', MainPID: pid });

    await run('systemctl', 'kill', '--signal=KILL', 'postern');
    await isBack(postern, machine, '1');
    await passes();
    await run('systemctl', 'kill', '--signal=STOP', '--kill-whom=main', 'postern');
    await isBack(postern, machine, '2', WATCHDOG_MS_MAX);
    await passes();

    const begun = performance.now();
    await run('systemctl', 'stop', 'postern');
    const took = performance.now() - begun;
    t.log(`stopped in ${Math.round(took)} ms`);
    t.true(took < STOP_MS_MAX, `${took} ms`);
    t.like(await show(machine), { ActiveState: 'inactive', Result: 'success' });
    t.is(await run('nft', 'list', 'tables'), '');
    t.notRegex(await run('ip', 'link'), /wg-postern/);

    // What root does at the command line, as the guide says, is no harm to the service.
    const [command] = /(?<=^sh -c ').*(?= doctor'$)/m.exec(readFileSync(GUIDE, 'utf8')) ?? [];
    t.truthy(command);
    t.regex(
      await run('sh', '-c', `cd /opt/postern; ${command} check-config`),
      /^EXTERNAL_URL=http:\/\/gateway\.example/m,
    );
    await run('sh', '-c', `cd /opt/postern; ${command} keys rotate`);
    await run('systemctl', 'start', 'postern');
    t.is((await postern.readiness()).status, 'ready');
    await passes();
  } catch (error) {
    t.log(await run('journalctl', '--unit=postern', '--lines=30').catch(String));
    throw error;
  } finally {
    await machine.remove();
    await topology.network.remove();
  }
});

/** What systemd says of the service. */
async function show({ run }: Machine): Promise<Record<string, string>> {
  const names = ['ActiveState', 'Result', 'MainPID', 'NRestarts'];
  const lines = await run('systemctl', 'show', `--property=${names.join()}`, 'postern');
  return Object.fromEntries(lines.split('\n').map((line) => line.split('=') as [string, string]));
}

async function isBack(
  postern: Postern,
  machine: Machine,
  restarts: string,
  limitMs = 15_000,
): Promise<void> {
  await until(
    `start ${restarts}`,
    async () => {
      const { ActiveState, NRestarts } = await show(machine);
      return ActiveState === 'active' && NRestarts === restarts;
    },
    limitMs,
  );
  await until('it is ready', async () => (await postern.readiness()).status === 'ready');
}

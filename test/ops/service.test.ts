// The systemd unit: what systemd says of it, that it starts what `npm start` starts, and what a gateway
// that is started like it tells its supervisor, from the start to a stop within five seconds. The test
// takes systemd's part: rights, user, folders, socket; unit.test.ts has systemd itself.

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { makeCertificate } from '../../lib/auth/saml/certificate.ts';
import { programRoot } from '../support/gateway/bundle.ts';
import { launcherOf } from '../support/gateway/launcher.ts';
import { command } from '../support/network/namespaces.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { SupervisorSocket } from '../support/gateway/supervisor-socket.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
} from '../support/network/topology.ts';
import { measureSlowness } from '../support/suite/slowness.ts';
import { enrol } from '../e2e/people.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const UNIT = resolve(import.meta.dirname, '../../config/systemd/postern.service');
const STOP_MS_MAX = 5_000;
/** What `systemd-analyze security` gives to services that are well locked in; 10 is the worst. */
const EXPOSURE_MAX = 2;

const unit = readFileSync(UNIT, 'utf8');

/** Values of a directive, in the order in which they stand. */
function valuesOf(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map((match) => match[1] ?? '');
}

test('systemd takes the unit and finds it locked in', async (t) => {
  const { stderr } = await command('systemd-analyze', 'verify', '--man=no', UNIT);
  t.is(stderr, '');
  const { stdout } = await command('systemd-analyze', 'security', '--offline=true', UNIT);
  const exposure = Number(
    /Overall exposure level for postern\.service: ([\d.]+)/.exec(stdout)?.[1],
  );
  t.log(`exposure ${exposure}`);
  t.true(exposure <= EXPOSURE_MAX, stdout);
});

test('the unit starts what `npm start` starts', (t) => {
  t.deepEqual(valuesOf('ExecStart'), ['/bin/sh lib/postern serve']);
  const given = Object.fromEntries(
    valuesOf('Environment')
      .flatMap((line) => line.split(' '))
      .map((assignment) => assignment.split('=')),
  ) as Record<string, string>;
  // The program's own folder cannot be written there.
  t.is(given['NODE_COMPILE_CACHE'], `/var/cache/${valuesOf('CacheDirectory')[0]}`);
  t.is(given['DATA_DIR'], `/var/lib/${valuesOf('StateDirectory')[0]}`);
});

/** As the unit says: a user without rights, who keeps one. */
const AS_UNIT = [
  'setpriv',
  '--reuid=65534',
  '--regid=65534',
  '--clear-groups',
  '--no-new-privs',
  '--bounding-set=-all,+net_admin',
  '--inh-caps=-all,+net_admin',
  '--ambient-caps=-all,+net_admin',
];

test.serial(
  'a supervised gateway reports, reads certificates again, and stops in time',
  async (t) => {
    t.timeout(120_000);
    t.deepEqual(valuesOf('AmbientCapabilities'), ['CAP_NET_ADMIN']);
    const topology = await buildTopology('ps');
    const receiver = await new SupervisorSocket().ready();
    // A user without rights opens the device on hosts as they come; here it may be root's alone.
    const device = (await command('stat', '-c', '%a', '/dev/net/tun')).stdout.trim();
    await command('chmod', '0666', '/dev/net/tun');
    try {
      const folder = temporaryFolder('postern-service-');
      const [HTTP_TLS_CERT, HTTP_TLS_KEY] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
      const renew = async (serial: number): Promise<void> => {
        const pair = await makeCertificate(new Date(), Uint8Array.of(serial));
        writeFileSync(HTTP_TLS_CERT, pair.certificate);
        writeFileSync(HTTP_TLS_KEY, pair.privateKey);
      };
      const plain = { WIREGUARD_TUN: 'required', WIREGUARD_UAPI: 'off' };
      const supervised = {
        ...plain,
        NOTIFY_SOCKET: receiver.path,
        WATCHDOG_USEC: '1000000',
      };
      const postern = new Postern(topology.gateway, API_ADDRESS, supervised, AS_UNIT);
      await command('chown', '-R', '65534:65534', String(postern.environment['DATA_DIR']));
      await postern.start();
      t.regex(
        await receiver.message((message) => message.startsWith('READY=1')),
        /^READY=1\nSTATUS=Postern serves at http:/,
      );
      const beats = (): number => receiver.messages.filter((one) => one === 'WATCHDOG=1').length;
      const slowness = await measureSlowness();
      await sleep(2_200 * slowness);
      t.true(beats() >= 4, `${beats()} beats`);

      const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
      t.true(
        await canPing(alice.client.host, LAN4),
        'one right is enough to forward and masquerade',
      );

      // A connection that is silent, and a request that never ends, hold nothing up.
      const silent = connect(13000, API_ADDRESS);
      const endless = connect(13000, API_ADDRESS);
      silent.on('error', () => undefined);
      endless.on('error', () => undefined);
      endless.write('POST /v0/rules HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{');
      await sleep(200);
      const hasTable = (): Promise<boolean> =>
        topology.gateway.succeeds('/usr/sbin/nft', 'list', 'table', 'inet', 'postern_wg-postern');
      t.true(await hasTable());

      const begun = performance.now();
      await postern.stop();
      const took = performance.now() - begun;
      t.log(`stopped in ${Math.round(took)} ms, slowness ${slowness.toFixed(1)}`);
      t.true(took < STOP_MS_MAX * slowness, `${took} ms`);
      await receiver.message((message) => message.startsWith('STOPPING=1'));
      t.true(postern.output.includes('Postern has stopped'), postern.output);
      t.false(await hasTable(), 'the table is gone');
      t.false(await topology.gateway.succeeds('ip', 'link', 'show', 'wg-postern'), 'the TUN too');

      // HTTPS, and SIGHUP from whoever supervises.
      await renew(0x11);
      await command('chown', '-R', '65534:65534', folder);
      const tls = { HTTP_TLS_CERT, HTTP_TLS_KEY, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
      const { DATA_DIR = '' } = postern.environment;
      const again = new Postern(
        topology.gateway,
        API_ADDRESS,
        { ...supervised, ...tls, DATA_DIR },
        AS_UNIT,
      );
      receiver.messages.length = 0;
      const child = topology.gateway.start(
        AS_UNIT[0] ?? '',
        [...AS_UNIT.slice(1), launcherOf(programRoot()), 'serve'],
        { env: again.environment, cwd: programRoot() },
      );
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await receiver.message((message) => message.startsWith('READY=1'));
      await renew(0x22);
      child.kill('SIGHUP');
      await receiver.message((message) => message.startsWith('RELOADING=1'));
      await until('it is read', () => output.includes('the certificate was read again'));
      t.is(child.exitCode, null);
      const { stdout: shown } = await command(
        'bash',
        '-c',
        `openssl s_client -connect ${API_ADDRESS}:13000 </dev/null 2>/dev/null | openssl x509 -noout -serial`,
      );
      t.is(shown.trim(), 'serial=22');
      child.kill('SIGTERM');
      await once(child, 'exit');
      t.is(child.exitCode, 0, output);
    } finally {
      await command('chmod', device, '/dev/net/tun');
      receiver.close();
      await topology.network.remove();
    }
  },
);

// The image, built from the Dockerfile and run as compose.yaml runs it: one capability, one device, a
// root that cannot be written, no other right. A real WireGuard client and a LAN are linked to the
// container's own network, and packets pass.
//
//   alice 192.0.2.2 -- 192.0.2.1 container 198.51.100.1 -- 198.51.100.2 lan
//                                  10.255.78.2 -- 10.255.78.1 this machine (for the API alone)

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol } from '../e2e/people.ts';
import {
  buildImage,
  IMAGE,
  imageMegabytes,
  podman,
  podmanRun,
} from '../support/gateway/container.ts';
import { examplesOf, runShell } from '../support/suite/examples.ts';
import { command, Host, Network, stop } from '../support/network/namespaces.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';

const COMPOSE_FILES = ['yaml', 'mysql.yaml', 'caddy.yaml', 'restricted.yaml'].map(
  (name) => `compose.${name}`,
);
const ROOT = resolve(import.meta.dirname, '../..');
const API = '10.255.78.2';
const NAME = 'postern-test';
const isReleased = process.env['IMAGE_ARCHIVE'] !== undefined;
/** That of a release has no compiled code; that of the Dockerfile is larger. */
const SIZE_MB_MAX = isReleased ? 250 : 350;
const STOP_MS_MAX = 5_000;

/** A web server. */
const WEB = `require('node:http')
  .createServer((_, response) => response.end('from the lan'))
  .listen(8080, '::', () => console.log('ready'));`;

const NEEDED = '--env=WIREGUARD_TUN=required';
/** Why a container has no TUN that is not given the device. */
const NO_DEVICE =
  'no TUN interface wg-postern: /dev/net/tun is missing; run: modprobe tun (in a container: --device /dev/net/tun)';

/** CAP_NET_ADMIN alone, as /proc shows it. */
const NET_ADMIN = '0000000000001000';

/** What compose.yaml gives beside the image, as arguments of `run`. */
const COMPOSE = [
  '--cap-add=NET_ADMIN',
  '--device=/dev/net/tun',
  '--read-only',
  // Docker mounts nothing over /tmp and /run, podman would.
  '--read-only-tmpfs=false',
  '--security-opt=no-new-privileges',
  '--ulimit=core=0:0',
  '--sysctl=net.ipv6.conf.all.forwarding=1',
  // Docker sets this in every container.
  '--sysctl=net.ipv4.ip_forward=1',
  `--volume=${NAME}:/data`,
  NEEDED,
];

/** Ways to start the image without any right, as arguments of `run`. */
const WITHOUT_RIGHTS: readonly (readonly [way: string, ...args: string[]])[] = [
  ['as it is'],
  ['as root without a capability', '--cap-drop=ALL'],
  ['as nobody, on a root that cannot be written', '--user=65534', ...readOnly()],
  ['as any user with the group 0', '--user=123456:0', '--cap-drop=ALL', ...readOnly()],
];

function readOnly(): string[] {
  // Podman alone mounts something over /tmp and /run.
  return ['--read-only', '--read-only-tmpfs=false'];
}

test.before(async (t) => {
  t.timeout(900_000);
  const begun = performance.now();
  await buildImage();
  t.log(`built in ${Math.round((performance.now() - begun) / 1_000)} s`);
});

test.serial('the image is of a size that can be pulled', async (t) => {
  const size = await imageMegabytes();
  t.log(`${Math.round(size)} MB`);
  t.true(size > 100 && size <= SIZE_MB_MAX, `${size} MB`);
});

test.serial('a client’s packets pass a container that may do one thing alone', async (t) => {
  t.timeout(180_000);
  const network = new Network('pc');
  await removeContainer();
  try {
    const alice = await network.addHost('alice');
    const lan = await network.addHost('lan');
    const token = `pst_${randomBytes(32).toString('base64url')}`;
    await command(
      ...first(
        podmanRun(
          '--detach',
          `--name=${NAME}`,
          '--network=none',
          ...COMPOSE,
          `--env=BOOTSTRAP_API_TOKEN=${token}`,
          IMAGE,
        ),
      ),
    );
    const pid = await podman('inspect', '--format={{.State.Pid}}', NAME);
    const container = await attach('pc-gw', pid);
    await link(network, { container, alice, lan });

    const postern = new Postern(container, API);
    const asked = Object.assign(postern, { token });
    await until('the container is ready', () => isReady(asked), 30_000);
    t.like(await (await fetch(`${postern.api}/readyz`)).json(), {
      status: 'ready',
      tun: 'wg-postern',
      masquerade: true,
    });
    // Of an OCI image, podman knows no health check.
    if (isReleased) await podman('exec', NAME, 'node', 'lib/start/ready.js');
    else await podman('healthcheck', 'run', NAME);

    // Nothing of root is left.
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    t.regex(status, /^Uid:\t1000\t1000\t1000\t1000$/m);
    t.regex(status, /^Groups:\s*$/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      t.true(status.includes(`${set}:\t${NET_ADMIN}\n`), `${set} in ${status}`);
    t.regex(status, /^NoNewPrivs:\t1$/m);
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    t.regex(limits, /^Max core file size +0 +0 /m);
    await t.throwsAsync(podman('exec', NAME, 'touch', '/app/x'), { message: /Read-only/ });

    // The launcher, which `npm start` runs as well, has become Node.
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    t.deepEqual(
      [basename(commandLine[0] ?? ''), ...commandLine.slice(-2)],
      ['node', '/app/lib/start/postern.js', 'serve'],
    );

    const person = await enrol(asked, alice, 'alice@example.test', '192.0.2.1:51820');
    t.true(await canPing(alice, '100.64.0.1'));
    t.true(await canPing(alice, 'fd00::1'));
    t.true(await canPing(alice, '198.51.100.2'), 'the LAN, masqueraded');
    t.true(await canPing(alice, '2001:db8:2::2'), 'the LAN over IPv6, masqueraded');
    await asked.create('rule', { action: 'drop', destination: '198.51.100.0/24' });
    t.false(await canPing(alice, '198.51.100.2'));
    await person.client.stop();

    // Commands in the running container do their work as its user.
    const file = await podman(
      'exec',
      NAME,
      'postern',
      'device',
      'create',
      '--email',
      'alice@example.test',
      '--name',
      'phone',
    );
    t.regex(file, /^\[Interface\]\nPrivateKey = /);
    const findings = JSON.parse(await podman('exec', NAME, 'postern', 'doctor', '--json')) as {
      well: boolean;
      findings: unknown[];
    };
    t.true(findings.well, JSON.stringify(findings.findings));
    // It holds the bundle: no TypeScript, and of npm nothing but what lies beside its scripts.
    t.is(await podman('exec', NAME, 'find', '/app', '-name', '*.ts'), '');
    const packages = await podman('exec', NAME, 'ls', '/app/node_modules');
    t.deepEqual(packages.split(/\s+/).toSorted(), [
      '@github',
      'bcrypt',
      'node-gyp-build',
      'tweetnacl',
      'uplot',
      'uqr',
    ]);
    t.is((await fetch(`${postern.api}/docs/swagger-ui-bundle.js`)).status, 200);
    t.regex(await podman('exec', NAME, 'postern', '--version'), /^postern \d/);
    const owners = await podman('exec', NAME, 'find', '/data', '!', '-user', 'node');
    t.is(owners, '');

    const begun = performance.now();
    await podman('stop', '--time=10', NAME);
    t.true(performance.now() - begun < STOP_MS_MAX);
    t.is(await podman('inspect', '--format={{.State.ExitCode}}', NAME), '0');
    t.true((await podman('logs', NAME)).includes('Postern has stopped'));
  } finally {
    await removeContainer();
    await command('ip', 'netns', 'del', 'pc-gw').catch(() => undefined);
    await network.remove();
  }
});

for (const [way, ...args] of WITHOUT_RIGHTS)
  test.serial(
    `without any right the image starts ${way}, and says what it does without`,
    async (t) => {
      t.timeout(180_000);
      const network = new Network('pc');
      await removeContainer();
      try {
        const token = `pst_${randomBytes(32).toString('base64url')}`;
        const given = ['--network=none', `--env=BOOTSTRAP_API_TOKEN=${token}`, ...args];
        await command(...first(podmanRun('--detach', `--name=${NAME}`, ...given, IMAGE)));
        const ask = (): Promise<string> => podman('exec', NAME, 'node', 'lib/start/ready.js');
        await until('the container is ready', () => ask().then(...yesOrNo), 60_000);
        const { egress_reason, ...readiness } = JSON.parse(await ask()) as Record<string, unknown>;
        t.like(readiness, { status: 'ready', tun: null, masquerade: true, egress: 'sockets' });
        t.is(egress_reason, NO_DEVICE);
        const lines = (await command('podman', 'logs', NAME)).stdout.split('\n');
        const said = lines.filter((line) => /TUN|CAP_NET_ADMIN|sockets of/.test(line));
        t.deepEqual(
          said.map((line) => (JSON.parse(line) as { msg: string }).msg),
          [`${NO_DEVICE}. Packets of devices leave by sockets of the gateway`, 'Postern serves'],
        );
        const status = await podman('exec', NAME, 'cat', '/proc/1/status');
        t.regex(status, /^CapEff:\t0+$/m);
        const findings = JSON.parse(await podman('exec', NAME, 'postern', 'doctor', '--json')) as {
          well: boolean;
          findings: { check: string; level: string; message: string }[];
        };
        t.true(findings.well, JSON.stringify(findings.findings));
        t.like(
          findings.findings.find(({ check }) => check === 'tun'),
          {
            level: 'ok',
            message: `packets of devices leave by sockets of the gateway: ${NO_DEVICE}`,
          },
        );
        const email = ['--email', 'admin@localhost', '--name', 'phone'];
        const file = await podman('exec', NAME, 'postern', 'device', 'create', ...email);
        t.regex(file, /^\[Interface\]\nPrivateKey = /);
        await reachesWeb(t, network, token);
        await podman('stop', '--time=10', NAME);
        t.is(await podman('inspect', '--format={{.State.ExitCode}}', NAME), '0');
      } finally {
        await removeContainer();
        await command('ip', 'netns', 'del', 'pc-gw').catch(() => undefined);
        await network.remove();
      }
    },
  );

/** A real client of the container reaches a web server of the LAN, and no more than rules let it. */
async function reachesWeb(t: ExecutionContext, network: Network, token: string): Promise<void> {
  const alice = await network.addHost('alice');
  const lan = await network.addHost('lan');
  const container = await attach('pc-gw', await podman('inspect', '--format={{.State.Pid}}', NAME));
  await link(network, { container, alice, lan });
  const web = lan.start(process.execPath, ['-e', WEB]);
  await once(web.stdout!, 'data');
  const postern = Object.assign(new Postern(container, API), { token });
  const person = await enrol(postern, alice, 'alice@example.test', '192.0.2.1:51820');
  const asked = (url: string): Promise<string> =>
    alice.run('curl', '--silent', '--max-time', '15', url).then(({ stdout }) => stdout);
  const urls = ['http://198.51.100.2:8080/', 'http://[2001:db8:2::2]:8080/'] as const;
  for (const url of urls) t.is(await asked(url), 'from the lan', url);
  await postern.create('rule', { action: 'drop', destination: '198.51.100.0/24' });
  await t.throwsAsync(asked(urls[0]));
  t.is(await asked(urls[1]), 'from the lan');
  await person.client.stop();
  await stop(web);
}

test.serial(
  'a container that needs a TUN ends without the capability or the device, and says what is missing',
  async (t) => {
    const run = async (...args: string[]): Promise<string> => {
      const words = first(podmanRun('--rm', '--network=none', NEEDED, ...args, IMAGE));
      const error = await t.throwsAsync(command(...words));
      return String((error as unknown as { stderr: string }).stderr);
    };
    t.regex(
      await run('--device=/dev/net/tun'),
      /CAP_NET_ADMIN is missing; add --cap-add NET_ADMIN/,
    );
    t.regex(
      await run('--cap-add=NET_ADMIN'),
      /WIREGUARD_TUN=required, but .*\/dev\/net\/tun is missing/,
    );
  },
);

test.serial('the page about test suites says what works', async (t) => {
  t.timeout(180_000);
  const page = join(ROOT, 'docs/guides/container-in-tests.md');
  const folder = mkdtempSync(join(tmpdir(), 'postern-suite-'));
  const run = podmanRun().join(' ');
  // On ports of its own, since a gateway may run on this machine.
  const commands = examplesOf(page)
    .join('\n')
    .replaceAll('127.0.0.1:13000', '127.0.0.1:13977')
    .replaceAll('127.0.0.1:51820', '127.0.0.1:51977')
    .replace(/ postern$/m, ` ${IMAGE}`);
  const docker = `docker() { if [ "$1" = run ]; then shift; ${run} "$@"; else podman "$@"; fi; }`;
  try {
    const printed = await runShell(`cd ${folder}\n${docker}\n${commands}`, {});
    t.regex(printed, /"status":"ready","tun":"wg-postern"/);
    t.regex(printed, /"destination":"192\.0\.2\.0\/24"/);
    t.regex(readFileSync(join(folder, 'laptop.conf'), 'utf8'), /^\[Interface\]\nPrivateKey = /);
  } finally {
    await podman('rm', '--force', '--volumes', 'gateway-under-test').catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }
});

test('compose.yaml gives what was tested here, and nothing that gives more', (t) => {
  for (const file of COMPOSE_FILES) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    t.notRegex(text, /privileged: true|SYS_MODULE|SYS_ADMIN|network_mode|\/lib\/modules/, file);
  }
  const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
  for (const line of [
    'cap_add: [NET_ADMIN]',
    'devices: [/dev/net/tun:/dev/net/tun]',
    'read_only: true',
    'ulimits: { core: 0 }',
  ])
    t.true(text.includes(line), line);
  t.deepEqual(text.match(/net\.[\w.]+: 1/g), ['net.ipv6.conf.all.forwarding: 1']);
});

const yesOrNo = [() => true, () => false] as const;

function first([program = '', ...args]: string[]): [string, ...string[]] {
  return [program, ...args];
}

async function removeContainer(): Promise<void> {
  await podman('rm', '--force', '--volumes', NAME).catch(() => undefined);
  await podman('volume', 'rm', '--force', NAME).catch(() => undefined);
}

/** Names the network of a process, so that it is a host like others. */
async function attach(name: string, pid: string): Promise<Host> {
  for (let i = 0; ; i++) {
    try {
      await command('ip', 'netns', 'attach', name, pid);
      return new Host(name);
    } catch (error) {
      if (i === 20) throw error;
      await sleep(100);
    }
  }
}

async function link(
  network: Network,
  { container, alice, lan }: { container: Host; alice: Host; lan: Host },
): Promise<void> {
  await network.link(
    { host: alice, name: 'c0', addresses: ['192.0.2.2/24'] },
    { host: container, name: 'g0', addresses: ['192.0.2.1/24'] },
  );
  await network.link(
    { host: container, name: 'g1', addresses: ['198.51.100.1/24', '2001:db8:2::1/64'] },
    { host: lan, name: 'l0', addresses: ['198.51.100.2/24', '2001:db8:2::2/64'] },
  );
  await network.link(
    { host: null, name: 'm0', addresses: ['10.255.78.1/30'] },
    { host: container, name: 'm1', addresses: [`${API}/30`] },
  );
}

async function isReady(postern: Postern): Promise<boolean> {
  return fetch(`${postern.api}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

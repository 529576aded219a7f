// The first start without any configuration: ready within three seconds, a TUN, credentials shown
// once, and the examples of the README work as they are printed.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { derivePublicKey } from '../../dataplane/index.ts';
import { examplesOf } from '../support/suite/examples.ts';
import { Network, stop } from '../support/network/namespaces.ts';
import { until } from '../support/gateway/postern.ts';
import { measureSlowness } from '../support/suite/slowness.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** How long a first start may take on a quiet machine. */
const UP_SECONDS = 3;

/** How long the processes with a data folder were ready to run and had no core (proc(5)). */
function secondsWithoutCore(dataDir: string): number {
  let nanoseconds = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      if (!environment.includes(`DATA_DIR=${dataDir}`)) continue;
      nanoseconds += Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]);
    } catch {
      // It has ended meanwhile.
    }
  return nanoseconds / 1e9;
}

test.serial('a gateway needs no configuration', async (t) => {
  t.timeout(120_000);
  const network = new Network('pf');
  try {
    const host = await network.addHost('gw');
    const environment = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DATA_DIR: temporaryFolder('postern-first-'),
    };
    const begun = performance.now();
    const start = (): { child: ReturnType<typeof host.start>; output: () => string } => {
      const child = host.start('npm', ['start', '--silent'], { env: environment, cwd: ROOT });
      let output = '';
      child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      return { child, output: () => output };
    };
    const first = start();
    await until('it serves', () => first.output().includes('Postern serves'));
    const credentials = join(environment.DATA_DIR, 'first-administrator.txt');
    const waited = secondsWithoutCore(environment.DATA_DIR);
    const seconds = (performance.now() - begun) / 1_000 - waited;
    const limit = UP_SECONDS * (await measureSlowness());
    t.log(`up after ${seconds.toFixed(1)} s without ${waited.toFixed(1)} s in which others had`);
    t.log(`the cores; allowed are ${limit.toFixed(1)} s`);
    t.true(seconds < limit, `up after ${seconds.toFixed(1)} s`);
    t.true(await host.succeeds('ip', 'link', 'show', 'wg-postern'));

    const text = readFileSync(credentials, 'utf8');
    const token = /API token +(pst_[\w-]{43})/.exec(text)?.[1] ?? '';
    t.false(/pst_/.test(first.output()), 'what is collected holds no secret');
    const commands = examplesOf(join(ROOT, 'docs/guides/scripting.md'))
      .join('\n')
      .replace('TOKEN=pst_...', `TOKEN=${token}`);
    // The examples write client.key into the folder where they run.
    const folder = temporaryFolder('postern-readme-');
    const { stdout } = await host.run('bash', '-ec', `cd ${folder}\n${commands}`);
    const privateKey = Buffer.from(readFileSync(join(folder, 'client.key'), 'utf8'), 'base64');
    const publicKey = Buffer.from(derivePublicKey(privateKey)).toString('base64');
    const answers = stdout
      .trim()
      .split(/(?<=\})(?=\{)/)
      .map((text) => JSON.parse(text) as Answer);
    t.is(answers.length, 4);
    t.is(answers[0]?.data['default_client_mtu'], 1280);
    t.is(answers[1]?.data['public_key'], publicKey);
    t.is(answers[2]?.data['destination'], '10.0.0.5');

    await stop(first.child);
    const second = start();
    await until('it serves', () => second.output().includes('Postern serves'));
    t.false(/pst_|password/.test(second.output()), 'and is shown once');
    await stop(second.child);
  } finally {
    await network.remove();
  }
});

interface Answer {
  readonly data: Record<string, unknown>;
}

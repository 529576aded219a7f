// The package that other projects install: packed, unpacked under node_modules, where Node strips no
// types, and used by a project of its own, whose compiler reads the declarations. Dependencies are
// those that are installed here.

import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { PATH_TO_NODE } from './support/gateway/launcher.ts';

const ROOT = resolve(import.meta.dirname, '..');
const exec = promisify(execFile);

const PROGRAM = `
import { createGateway, NoAnswerError, type TestGateway } from 'postern/testing';

await using gateway: TestGateway = await createGateway({
  database: 'memory',
  tun: 'memory',
  settings: { DATAPLANE_ENGINE: 'native' },
});
const device = await gateway.addDevice({ user: 'alice@example.com', name: 'laptop' });
gateway.host('10.0.0.5', { udp: (data) => data.toString().toUpperCase(), ports: [80] });
const answer: Buffer = await device.udp('10.0.0.5', 53, 'hello');
await gateway.api.post('/v0/rules', { rule: { action: 'drop', destination: '10.0.0.0/8' } });
const refusal: unknown = await device.ping('10.0.0.5').catch((error: unknown) => error);
const page = await gateway.inject('GET', '/docs', { token: null });
console.log(String(answer), refusal instanceof NoAnswerError && refusal.refusals, page.status);
`;

/** Of no use but to show that the compiler knows the types. */
const SLIP = `
import type { TestGateway } from 'postern/testing';

export const slip = (gateway: TestGateway): unknown => gateway.noSuchThing();
`;

const REQUIRING_PROGRAM = `
const { createGateway } = require('postern/testing');
(async () => {
  const gateway = await createGateway();
  console.log((await gateway.inject('GET', '/nothing')).status);
  await gateway.close();
})();
`;

test.serial('a project of its own tests against the package', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-project-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  await exec(process.execPath, [join(ROOT, 'tools/write-package.ts')], { cwd: folder });
  const [packed] = readdirSync(folder);
  const home = join(folder, 'node_modules/postern');
  mkdirSync(home, { recursive: true });
  await exec('tar', ['-xzf', packed!, '--strip-components=1', '-C', home], { cwd: folder });

  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as object;
  t.like(manifest, {
    exports: {
      './testing': {
        types: './lib/testing/index.d.ts',
        require: './lib/testing/door.cjs',
        default: './lib/testing/door.js',
      },
    },
    bin: { postern: './lib/postern' },
    scripts: { install: 'node dataplane/native/build.cjs' },
  });
  // Whoever installs the package gets no reporter of installations.
  t.notRegex(JSON.stringify(manifest), /swagger-ui-dist|scarf/);
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' });
  t.deepEqual(
    names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts')),
    [],
  );
  // Each script of it is made by the bundle, and none holds a package.
  t.true(names.some((name) => name.startsWith('chunks/')));
  t.false(names.some((name) => name.startsWith('node_modules/')));
  t.false(names.some((name) => /^(test|data)\b|\.sqlite(-\w+)?$/.test(name)));
  t.deepEqual(
    names.filter((name) => name.endsWith('.node')),
    [`dataplane/native/prebuilt/linux-${process.arch}/postern.node`],
  );

  // The installation takes the addon that is there, where no compiler is; and one that cannot be
  // loaded, as on musl, is left.
  const install = (): Promise<{ stderr: string }> =>
    exec(process.execPath, ['dataplane/native/build.cjs'], { cwd: home, env: { PATH: '' } });
  t.is((await install()).stderr, '');
  const own = join(home, 'dataplane/native/build/Release/postern.node');
  const prebuilt = join(home, `dataplane/native/prebuilt/linux-${process.arch}/postern.node`);
  t.deepEqual(readFileSync(own), readFileSync(prebuilt));
  rmSync(own);
  writeFileSync(`${prebuilt}.bad`, 'no addon');
  renameSync(prebuilt, `${prebuilt}.good`);
  renameSync(`${prebuilt}.bad`, prebuilt);
  t.regex((await install()).stderr, /The native engine was not built/);
  renameSync(`${prebuilt}.good`, prebuilt);
  t.is((await install()).stderr, '');

  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'));
  // As README.md says it to new projects; npm itself may write "commonjs".
  await exec('npm', ['init', '-y'], { cwd: folder });
  await exec('npm', ['pkg', 'set', 'type=module'], { cwd: folder });
  writeFileSync(join(folder, 'use.ts'), PROGRAM);
  writeFileSync(join(folder, 'slip.ts'), SLIP);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    // The declarations of the package are checked, those of the language are not.
    skipDefaultLibCheck: true,
    module: 'nodenext',
    target: 'es2024',
    types: ['node'],
    lib: ['es2024', 'esnext.disposable'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['use.ts', 'slip.ts'] }),
  );
  const compiled = await exec(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
    (error: unknown) => error as { stdout: string },
  );
  const [slip, ...others] = compiled.stdout.trim().split('\n');
  t.regex(slip ?? '', /slip\.ts\(\d+,\d+\): .*noSuchThing.* does not exist on type 'TestGateway'/);
  t.deepEqual(others, [], 'types are known, and the other program has no error');

  const { stdout } = await exec(process.execPath, ['use.ts'], { cwd: folder });
  t.is(stdout.trim(), 'HELLO { rule_drop: 1 } 200');
  writeFileSync(join(folder, 'use.cjs'), REQUIRING_PROGRAM);
  const required = await exec(process.execPath, ['use.cjs'], { cwd: folder });
  t.is(required.stdout.trim(), '404');
  const old = ['--no-experimental-require-module', 'use.cjs'];
  await t.throwsAsync(exec(process.execPath, old, { cwd: folder }), {
    message: /Postern needs Node 24\.19 or newer, and require must take ES modules/,
  });
  const version = await exec(join(home, 'lib/postern'), ['--version'], {
    env: { PATH: PATH_TO_NODE },
  });
  t.regex(version.stdout, /^postern \d/);
  t.true(names.includes('lib/api/swagger-ui/swagger-ui-bundle.js'));
  t.true(names.includes('lib/api/swagger-ui/LICENSE'));
});

test('a project that is linked to the repository runs the sources as they are', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-linked-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/postern'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'use.ts'), PROGRAM);
  const { stdout } = await exec(process.execPath, ['use.ts'], { cwd: folder });
  t.is(stdout.trim(), 'HELLO { rule_drop: 1 } 200');
});

// Stacks of a bundle: each place is that of the TypeScript file, where a source map says so.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { build } from 'esbuild';
import { sourceFrames } from '../../../../lib/kit/process/source-frames.ts';

const SOURCE = `interface Slip { readonly why: string }

export function slip({ why }: Slip): never {
  throw new Error(why);
}
`;

test('a place in a bundle is that of its source, one without a map stays', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-frames-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'slip.ts'), SOURCE);
  const outfile = join(folder, 'out.js');
  await build({
    absWorkingDir: folder,
    entryPoints: ['slip.ts'],
    outfile,
    format: 'esm',
    minifyWhitespace: true,
    sourcemap: 'linked',
    banner: { js: '// a line before' },
  });
  const url = pathToFileURL(outfile).href;
  // In a process of its own, because AVA shows sources already.
  const program = `import { slip } from '${url}';
    try { slip({ why: 'no' }); } catch (error) { process.stdout.write(error.stack); }`;
  const words = ['--no-enable-source-maps', '--input-type=module', '--eval', program];
  const stack = execFileSync(process.execPath, words, { encoding: 'utf8' });
  t.true(stack.includes(`${url}:`), stack);
  const mapped = sourceFrames(stack);
  t.regex(mapped, /at slip \(slip\.ts:4:9\)/);
  t.false(mapped.includes('out.js'), mapped);
  t.is(sourceFrames(stack), mapped, 'it is remembered');
});

test('a map that cannot be read, or that lacks the place, changes nothing', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-frames-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of [
    ['broken.js', '{'],
    ['empty.js', '{"version":3,"sources":[],"names":[],"mappings":""}'],
  ] as const) {
    writeFileSync(join(folder, `${name}.map`), text);
    const frame = `    at slip (${pathToFileURL(join(folder, name)).href}:1:1)`;
    t.is(sourceFrames(frame), frame);
  }
  t.is(sourceFrames('    at node:internal/x:1:1'), '    at node:internal/x:1:1');
});

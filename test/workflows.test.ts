// The workflows of GitHub call the commands of this repository and know nothing of their own.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '..');
const FOLDER = join(ROOT, '.github/workflows');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { steps: readonly { run?: string; uses?: string }[] }>>;
}

/** What prepares a machine; all else is a command of package.json. */
const PREPARES = /^(apt-get|curl|npm ci|test\/packages\.sh|echo|chmod)\b/;

test('each step prepares the machine or is a command that exists', (t) => {
  const called = new Set<string>();
  for (const file of readdirSync(FOLDER)) {
    const { permissions, jobs } = parse(readFileSync(join(FOLDER, file), 'utf8')) as Workflow;
    t.deepEqual(permissions, { contents: 'read' }, `${file} publishes nothing`);
    for (const { run, uses } of Object.values(jobs).flatMap(({ steps }) => steps)) {
      if (run === undefined) t.regex(uses ?? '', /^actions\/[\w-]+@v\d+$/, file);
      for (const line of (run ?? '').split(/&&|\n/).map((text) => text.trim())) {
        const [, name] = /^npm run ([\w:]+)/.exec(line) ?? [];
        if (name === undefined) t.true(line === '' || PREPARES.test(line), `${file}: ${line}`);
        else t.true(name in scripts, `${file}: ${line}`);
        if (name !== undefined) called.add(name);
      }
    }
  }
  t.deepEqual([...called].toSorted(), ['release', 'release:check', 'release:node', 'test:all']);
});

// The page of results keeps one report of each benchmark.

import { readFileSync } from 'node:fs';
import test from 'ava';
import { withReport } from './results.ts';

const PAGE = `# Results

Figures.

## npm run bench:a

How to run it.

### 2026-01-01: old

| 1 |

### 2026-01-02: older still here

## npm run bench:a -- --rules

### 2026-01-03: b

| 2 |
`;

test('a report takes the place of all reports of its section', (t) => {
  const page = withReport(PAGE, 'npm run bench:a', '\n### 2026-02-01: new\n\n| 3 |\n');
  t.is(
    page,
    PAGE.replace(
      /### 2026-01-01[^]*?(?=## npm run bench:a -- )/,
      '### 2026-02-01: new\n\n| 3 |\n\n',
    ),
  );
});

test('the last section ends the page', (t) => {
  const page = withReport(PAGE, 'npm run bench:a -- --rules', '### 2026-02-01: new\n');
  t.is(page, PAGE.replace(/### 2026-01-03[^]*/, '### 2026-02-01: new\n'));
});

test('a benchmark without a section is an error', (t) => {
  t.throws(() => withReport(PAGE, 'npm run bench:b', '### new'), { message: /no section/ });
});

test('each benchmark that keeps its report has a section', (t) => {
  const page = readFileSync(new URL('./RESULTS.md', import.meta.url), 'utf8');
  const options = ['rules', 'limits', 'traffic-now-open', 'both', 'workers', 'profile'];
  const names = ['e2e', ...options.map((option) => `e2e -- --${option}`)];
  for (const name of [
    ...names,
    'packets',
    'path',
    'latency',
    'latency -- --workers',
    'big',
    'flood',
    'api',
    'lists',
    'testing',
  ])
    t.notThrows(() => withReport(page, `npm run bench:${name}`, '### new'), name);
});

// The pages of docs/reference that are made from the program, and the publisher's address in
// others: `npm run docs` writes them, a test compares. What people wrote beside a generated part
// stays.

import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { commands } from '../lib/cli/grammar.ts';
import { helpText } from '../lib/cli/help.ts';
import { Counters } from '../lib/kit/process/counters.ts';
import { Metrics } from '../lib/observe/metrics/index.ts';
import { reasonInWords } from '../lib/domain/policy/reason-words.ts';
import { type ReadFamily, readExposition } from '../test/support/observe/exposition.ts';
import { configOf } from '../test/support/api/server.ts';
import { CONTACT_PAGES, contactIn, PUBLISHER } from './publisher.ts';
import { fakeObserved, totals, fakeWatched } from '../test/support/observe/fake-gateway.ts';

const ROOT = resolve(import.meta.dirname, '..');
const FOLDER = 'docs/reference';

/** The pages by their path in the repository, as they should be. */
export async function generatedPages(): Promise<ReadonlyMap<string, string>> {
  const pages = [
    ['command-line.md', withCommands],
    ['metrics.md', withMetrics],
    ['refusal-reasons.md', withSentences],
  ] as const;
  const made = pages.map(async ([name, fill]) => {
    const path = join(FOLDER, name);
    const text = await fill(readFileSync(join(ROOT, path), 'utf8'));
    const options = await resolveConfig(join(ROOT, path));
    return [path, await format(text, { ...options, parser: 'markdown' })] as const;
  });
  return new Map([...(await Promise.all(made)), ...withContact(PUBLISHER.contact)]);
}

/** The pages that name the contact of a publisher, with this one. */
export function withContact(contact: string): [path: string, text: string][] {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const written = contactIn(read('SECURITY.md'));
  return CONTACT_PAGES.map((path) => [path, read(path).replaceAll(written, contact)]);
}

/** Names and help of all commands, as `postern help` and `--help` print them. */
export function commandHelps(): ReadonlyMap<string, string> {
  const all = helpText(commands, []);
  const names = [...all.matchAll(/^ {2}([a-z-]+(?: [a-z-]+)?)(?= |$)/gm)].map(([, name]) => name!);
  return new Map(names.map((name) => [name, helpText(commands, name.split(' '))]));
}

/** All families that a gateway with a device, a rule and a kernel's table shows. */
export async function metricFamilies(): Promise<ReadonlyMap<string, ReadFamily>> {
  const counters = new Counters();
  const hit = { id: 'a', packets: 1, bytes: 1, lastHitMs: 1 };
  const facts = fakeWatched().facts();
  const metrics = new Metrics({
    config: configOf(),
    counters,
    readiness: () => ({ status: 'ready', tun: null, masquerade: false }),
    serverPublicKey: 'k',
    observed: fakeObserved({ rules: () => new Map([['a', hit]]) }),
    captures: () => ({ running: 0, packets: 0, lost: 0 }),
    flowLog: () => ({
      records: { opened: 0, ended: 0, refused: 0 },
      lost: { ring_full: 0, device_share: 0, unsent: 0 },
    }),
    watched: fakeWatched([totals('a', { latestHandshakeMs: 1 })], {
      ruleActions: () => [{ id: 'a', action: 'drop', isStaged: false }],
      fileShares: () => ({ requests: { open: 1, max: 2 } }),
      ...(facts === null
        ? {}
        : { facts: () => ({ ...facts, connections: { entries: 1, max: 2 } }) }),
    }),
  });
  metrics.requests.add({ method: 'get', route: '/v0/users', status: 200, seconds: 1 });
  let text = '';
  for await (const chunk of metrics.text()) text += chunk;
  metrics.stop();
  return readExposition(text);
}

/** Rows of the tables of reasons: the names in a row's first cell, and its other two cells. */
export function reasonRows(page: string): { names: string[]; what: string; action: string }[] {
  return [...page.matchAll(/^\| (`[a-z0-9_]+`(?:, `[a-z0-9_]+`)*) +\|(.*)\|(.*)\|$/gm)].map(
    ([, names = '', what = '', action = '']) => ({
      names: [...names.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name!),
      what: what.trim(),
      action: action.trim(),
    }),
  );
}

/** The words that the sources of `lib` count refusals under; those of packets are a type. */
export function reasonsInSources(): ReadonlySet<string> {
  const found = new Set<string>();
  const text = readdirSync(join(ROOT, 'lib'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
  for (const pattern of REASONS) {
    const words = [...text.matchAll(pattern)].flatMap(([whole]) => [
      ...whole.matchAll(/'([a-z]+(?:_[a-z]+)+)'|^ {2}([a-z_]+):/gm),
    ]);
    if (words.length === 0) throw new Error(`no reason looks like ${pattern.source} any more`);
    for (const [, quoted, key] of words) found.add(quoted ?? key!);
  }
  for (const family of COUNTERS) found.delete(family);
  return found;
}

/** The names of the counters' families, which stand beside the reasons. */
const COUNTERS = [
  'requests_refused',
  'connections_refused',
  'sign_ins',
  'metadata_refreshes',
  'mails',
];

/** Where the sources name a reason. */
const REASONS = [
  /\.add\(\s*'(?:requests_refused|connections_refused|sign_ins|metadata_refreshes|mails)',[^;]*;/g,
  /\b(?:ApiError|PageError)\(\s*'[a-z_]+'/g,
  /\breason: '[a-z]+_[a-z_]+'/g,
  // The table of answers, and that of refusals of providers.
  /^ {2}[a-z_]+: \{\s*status: \d/gm,
  /^ {2}[a-z_]+: \[\s*'(?:nobody|person|provider|gateway)'/gm,
  /\[\d{3}, '[a-z_]+'\]/g,
  /type MetadataReason = [^;]*;/g,
  /type Removal =[^;]*;/g,
  /kind: 'failed', error: '[a-z_]+'/g,
];

function withCommands(page: string): string {
  const parts: string[] = [];
  let noun = '';
  const helps = [...commandHelps()].toSorted(([a], [b]) => groupOf(a) - groupOf(b));
  for (const [name, help] of helps) {
    const [usage = '', sentence = '', options = ''] = help.split('\n\n');
    const heading = name.includes(' ') ? name.split(' ')[0]! : 'the gateway';
    if (heading !== noun) parts.push(`## ${heading}`);
    noun = heading;
    parts.push(`### ${name}`, `\`\`\`text\n${usage.replace('usage: ', '')}\n\`\`\``, sentence);
    parts.push(optionTable(options));
  }
  return between('commands', parts.filter((part) => part !== '').join('\n\n'), page);
}

/** Commands without a noun come first, then those of each noun, in the order of help. */
function groupOf(name: string): number {
  const nouns = [...commandHelps().keys()].map((one) =>
    one.includes(' ') ? one.split(' ')[0] : '',
  );
  return nouns.indexOf(name.includes(' ') ? name.split(' ')[0] : '');
}

function optionTable(options: string): string {
  const rows = [...options.matchAll(/^ {2}(--\S+(?: \S+)?) {2,}(.*)$/gm)]
    .filter(([, option]) => option !== '--json')
    .map(([, option, sentence]) => `| \`${option}\` | ${sentence} |`);
  return rows.length === 0 ? '' : ['| option | |', '| --- | --- |', ...rows].join('\n');
}

async function withMetrics(page: string): Promise<string> {
  const families = [...(await metricFamilies()).values()];
  const isOwn = ({ name }: ReadFamily): number => (name.startsWith('wg_gateway_') ? 0 : 1);
  const rows = families
    .toSorted((a, b) => isOwn(a) - isOwn(b))
    .map(({ name, type, help, samples }) => {
      const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
      labels.delete('le');
      const shown = [...labels].map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${shown} | ${help} |`;
    });
  const table = ['| metric | type | labels | |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return between('metrics', table, page);
}

function withSentences(page: string): string {
  return page.replaceAll(
    /^\| `([a-z0-9_]+)` +\|(.*)\|(.*)\|$/gm,
    (row: string, name: string, _: string, action: string) => {
      const sentence = reasonInWords(name);
      const isKnown = sentence !== `${name.replaceAll('_', ' ')}.`;
      return isKnown ? `| \`${name}\` | ${sentence} | ${action.trim()} |` : row;
    },
  );
}

function between(mark: string, part: string, page: string): string {
  const marked = new RegExp(`(<!-- ${mark} -->\\n)[\\s\\S]*(<!-- end of ${mark} -->)`);
  if (!marked.test(page)) throw new Error(`the page has no marks of ${mark}`);
  return page.replace(marked, (_, begin: string, end: string) => `${begin}\n${part}\n\n${end}`);
}

/** The path of a page, for whoever writes it. */
export function pathOf(page: string): string {
  return join(ROOT, relative('.', page));
}

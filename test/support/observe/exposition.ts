// A strict reader of the text in which metrics are shown, written after the description of the
// format and not after our writer: a scraper may refuse what it does not allow.

/** One sample. */
export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A family with its samples. */
export interface ReadFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ReadSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|\})/;
const NUMBER = /^(?:[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN)$/i;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count'],
};

/** Reads a whole text; throws if it is not in the format. */
export function readExposition(text: string): ReadonlyMap<string, ReadFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, ReadFamily>();
  const seen = new Set<string>();
  let help: { name: string; text: string } | null = null;
  let current: ReadFamily | null = null;
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind = '', name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (help !== null) throw new Error(`two helps: ${line}`);
      help = { name, text: rest };
    } else if (kind === 'TYPE') {
      if (help?.name !== name) throw new Error(`no help before: ${line}`);
      if (families.has(name)) throw new Error(`given twice: ${name}`);
      if (!(rest in SUFFIXES)) throw new Error(`no such type: ${line}`);
      if (NAME.exec(name)?.[0] !== name) throw new Error(`no name: ${line}`);
      current = { name, type: rest, help: help.text, samples: [] };
      families.set(name, current);
      help = null;
    } else {
      if (current === null || help !== null) throw new Error(`in no family: ${line}`);
      const sample = readSample(line);
      const suffixes = SUFFIXES[current.type] ?? [];
      const family = current.name;
      if (!suffixes.some((suffix) => sample.name === family + suffix))
        throw new Error(`not of ${family}: ${line}`);
      const series = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(series)) throw new Error(`given twice: ${series}`);
      seen.add(series);
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) check(family);
  return families;
}

/** The value of a series; undefined if there is none. */
export function valueOf(
  families: ReadonlyMap<string, ReadFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const samples = [...families.values()].flatMap((family) => family.samples);
  const wanted = Object.entries(labels);
  return samples.find(
    (one) => one.name === name && wanted.every(([label, value]) => one.labels[label] === value),
  )?.value;
}

function readSample(line: string): ReadSample {
  const name = NAME.exec(line)?.[0] ?? '';
  if (name === '') throw new Error(`no name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    for (let end = ''; end !== '}';) {
      const matched = LABEL.exec(rest);
      if (matched === null) throw new Error(`no label: ${line}`);
      const [whole, label = '', value = ''] = matched;
      if (label in labels) throw new Error(`a label twice: ${line}`);
      labels[label] = value.replaceAll(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one));
      end = matched[3] ?? '}';
      rest = rest.slice(whole.length);
    }
  }
  const number = rest.slice(1);
  if (!rest.startsWith(' ') || !NUMBER.test(number)) throw new Error(`no number: ${line}`);
  return { name, labels, value: Number(number.replace('Inf', 'Infinity')) };
}

function check({ name, type, samples }: ReadFamily): void {
  if (type === 'counter') {
    if (!name.endsWith('_total')) throw new Error(`a counter without _total: ${name}`);
    if (samples.some(({ value }) => !(value >= 0))) throw new Error(`below zero: ${name}`);
  }
  if (type !== 'histogram') return;
  const counts = samples.filter((one) => one.name === `${name}_count`);
  for (const { labels, value } of counts) {
    const buckets = samples.filter(
      (one) =>
        one.name === `${name}_bucket` &&
        Object.entries(labels).every(([label, text]) => one.labels[label] === text),
    );
    const values = buckets.map((bucket) => bucket.value);
    if (values.some((count, i) => count < (values[i - 1] ?? 0)))
      throw new Error(`buckets fall: ${name}`);
    const last = buckets.at(-1);
    if (last?.labels['le'] !== '+Inf' || last.value !== value)
      throw new Error(`the last bucket is not all: ${name}`);
  }
}

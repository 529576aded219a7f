// Scenes: what was typed at the command line, and what came of it, as text files that people read. A
// file is one scene: its lines are run in their order on one fresh database. README.md shows the format.

/** What one line came to, as far as it is recorded. */
export interface RecordedEnd {
  readonly status: number;
  /** JSON for programs has whitespace for readers. */
  readonly stdout: string;
  readonly stderr: string;
  /** What it wrote to the audit trail, each entry as one line. */
  readonly audit: readonly string[];
}

/** One line that is typed, and what it came to once it is recorded. */
export interface Typed {
  /** Lines of comment above it. */
  readonly remark: readonly string[];
  /** All behind `$ `. */
  readonly line: string;
  readonly stdin: string;
  readonly end: RecordedEnd | null;
}

/** One file. */
export interface Scene {
  /** The lines of comment that it begins with. */
  readonly title: readonly string[];
  /** What is special about the world, by key. */
  readonly world: Readonly<Record<string, string>>;
  readonly typed: readonly Typed[];
}

/** What `$` begins, and then what was typed and what came, by the mark of its lines. */
const MARKS = { stdin: '<', stdout: '>', stderr: '!', audit: '+' } as const;
/** Behind a mark: no line break follows this text. */
const UNENDED = '|';

/** Reads a file. */
export function readScene(text: string): Scene {
  const [head = '', ...blocks] = blocksOf(text);
  const lines = head.split('\n');
  const world = lines.filter((line) => !line.startsWith('#')).map(readHeader);
  return {
    title: commentsOf(lines),
    world: Object.fromEntries(world),
    typed: blocks.map(readTyped),
  };
}

/** Writes a file; what was read is written as it was. */
export function writeScene({ title, world, typed }: Scene): string {
  const head = [
    ...title.map(commented),
    ...Object.entries(world).map(([key, value]) => `${key}: ${value}`),
  ];
  return `${[head.join('\n'), ...typed.map(writeTyped)].join('\n\n')}\n`;
}

/** The parts of a file between empty lines. */
export function blocksOf(text: string): string[] {
  return text.trim().split(/\n{2,}/);
}

/** Reads `key: value`. */
export function readHeader(line: string): readonly [key: string, value: string] {
  const colon = line.indexOf(': ');
  if (colon === -1) throw new Error(`"${line}" has no colon and space`);
  return [line.slice(0, colon), line.slice(colon + 2)];
}

/** Reads a line that is typed, with what belongs to it. */
export function readTyped(block: string): Typed {
  const lines = block.split('\n');
  const at = lines.findIndex((line) => line.startsWith('$ '));
  if (at === -1) throw new Error(`no line begins with "$ " in:\n${block}`);
  const rest = lines.slice(at + 1);
  const status = rest.find((line) => line.startsWith('=> '));
  const unknown = rest.find((line) => line !== status && !isMarked(line));
  if (unknown !== undefined) throw new Error(`"${unknown}" has no mark in:\n${block}`);
  return {
    remark: commentsOf(lines.slice(0, at)),
    line: (lines[at] ?? '').slice(2),
    stdin: textOf(rest, 'stdin'),
    end: status === undefined ? null : { status: Number(status.slice(3)), ...partsOf(rest) },
  };
}

/** What lines with marks hold. */
export function partsOf(lines: readonly string[]): Omit<RecordedEnd, 'status'> {
  return {
    stdout: textOf(lines, 'stdout'),
    stderr: textOf(lines, 'stderr'),
    audit: textOf(lines, 'audit')
      .split('\n')
      .filter((line) => line !== ''),
  };
}

function writeTyped({ remark, line, stdin, end }: Typed): string {
  const typed = [...remark.map(commented), `$ ${line}`, ...marked(stdin, 'stdin')];
  if (end === null) return typed.join('\n');
  return [
    ...typed,
    `=> ${end.status}`,
    ...marked(end.stdout, 'stdout'),
    ...marked(end.stderr, 'stderr'),
    ...end.audit.flatMap((entry) => marked(`${entry}\n`, 'audit')),
  ].join('\n');
}

function commentsOf(lines: readonly string[]): string[] {
  return lines.filter((line) => line.startsWith('#')).map((line) => line.replace(/^# ?/, ''));
}

function commented(line: string): string {
  return `# ${line}`.trimEnd();
}

function isMarked(line: string): boolean {
  return Object.values(MARKS).some((mark) => line.startsWith(mark));
}

function textOf(lines: readonly string[], part: keyof typeof MARKS): string {
  const mark = MARKS[part];
  return lines
    .filter((line) => line.startsWith(mark))
    .map((line) => line.slice(mark.length))
    .map((rest) =>
      rest.startsWith(UNENDED) ? shown(rest.slice(1)) : `${shown(rest.replace(/^ /, ''))}\n`,
    )
    .join('');
}

function marked(text: string, part: keyof typeof MARKS): string[] {
  if (text === '') return [];
  const mark = MARKS[part];
  const lines = text.split('\n');
  const unended = lines.pop() ?? '';
  return [
    ...lines.map((line) => (line === '' ? mark : `${mark} ${hidden(line)}`)),
    ...(unended === '' ? [] : [`${mark}${UNENDED}${hidden(unended)}`]),
  ];
}

/** Control characters are written as `\xNN`, so that nobody's terminal or editor obeys them. */
function hidden(line: string): string {
  return line.replaceAll(/\\(?=x[0-9a-f]{2})|\p{Cc}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return String.raw`\x${code.toString(16).padStart(2, '0')}`;
  });
}

function shown(line: string): string {
  return line.replaceAll(/\\x([0-9a-f]{2})/g, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  );
}

/** The words of a line, as a shell would give them: `'…'` and `"…"` hold spaces, or nothing. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g))
    words.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one?: string, two = '') => one ?? two));
  return words;
}

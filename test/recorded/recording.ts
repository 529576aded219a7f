// Recordings: requests and the answers that they got, as text files that people read. A file is one
// scene: its exchanges are sent in their order to one server. README.md shows the format.

/** One answer, as far as it is recorded. */
export interface RecordedAnswer {
  readonly status: number;
  /** By name, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON with whitespace for readers; empty where there is no body. */
  readonly body: string;
}

/** One request, and its answer once it is recorded. */
export interface Exchange {
  /** What this exchange shows. */
  readonly says: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly answer: RecordedAnswer | null;
}

/** One file. */
export interface Recording {
  /** What the file holds: the lines of comment that it begins with. */
  readonly title: string;
  /** What is special about the server, by key. */
  readonly world: Readonly<Record<string, string>>;
  readonly exchanges: readonly Exchange[];
}

const EXCHANGE = /^## /m;
const ANSWER = /^=> (\d{3})$/m;

/** Reads a file. */
export function readRecording(text: string): Recording {
  const [head = '', ...sections] = text.split(EXCHANGE);
  const lines = head.split('\n').filter((line) => line !== '');
  const comments = lines.filter((line) => line.startsWith('#'));
  const world = lines.filter((line) => !line.startsWith('#')).map(readHeader);
  return {
    title: comments.map((line) => line.replace(/^# ?/, '')).join('\n'),
    world: Object.fromEntries(world),
    exchanges: sections.map(readExchange),
  };
}

/** Writes a file; what was read is written as it was. */
export function writeRecording({ title, world, exchanges }: Recording): string {
  const head = [
    ...title.split('\n').map((line) => `# ${line}`),
    ...Object.entries(world).map(([key, value]) => `${key}: ${value}`),
  ];
  return [head.join('\n'), ...exchanges.map(writeExchange)].join('\n\n') + '\n';
}

function readExchange(section: string): Exchange {
  const end = section.indexOf('\n');
  const says = section.slice(0, end);
  const [request = '', status, answer = ''] = section.slice(end + 1).split(ANSWER);
  const [first = '', ...rest] = request.trim().split('\n');
  const [method = '', path = '', ...others] = first.split(' ');
  if (method === '' || path === '' || others.length > 0)
    throw new Error(`"${says}" does not begin with a method and a path, but with "${first}"`);
  const sent = readMessage(rest.join('\n'));
  if (status === undefined) return { says, method, path, ...sent, answer: null };
  const received = readMessage(answer.replace(/^\n/, '').trimEnd());
  return { says, method, path, ...sent, answer: { status: Number(status), ...received } };
}

function writeExchange({ says, method, path, headers, body, answer }: Exchange): string {
  const request = `## ${says}\n\n${method} ${path}${writeMessage(headers, body)}`;
  if (answer === null) return request;
  return `${request}\n\n=> ${answer.status}${writeMessage(answer.headers, answer.body)}`;
}

/** Headers, and after an empty line a body. */
function readMessage(text: string): Pick<Exchange, 'headers' | 'body'> {
  const gap = text.startsWith('\n') ? 0 : text.indexOf('\n\n');
  const head = gap === -1 ? text : text.slice(0, gap);
  const body = gap === -1 ? '' : text.slice(gap).replace(/^\n+/, '');
  const lines = head.split('\n').filter((line) => line !== '');
  return { headers: lines.map(readHeader), body };
}

function writeMessage(headers: Exchange['headers'], body: string): string {
  const lines = headers.map(([name, value]) => `\n${name}: ${value}`).join('');
  return body === '' ? lines : `${lines}\n\n${body}`;
}

function readHeader(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(': ');
  if (colon === -1) throw new Error(`"${line}" is no header: it has no colon and space`);
  return [line.slice(0, colon), line.slice(colon + 2)];
}

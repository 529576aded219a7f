// A person who looks at a live page, for benchmarks: the event stream of the page is opened as its
// script opens it, and read.

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Gateway } from './gateways.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';

/** A page, and whose it is. */
export interface Shown {
  readonly text: string;
  readonly cookie: string;
  readonly uri: string;
}

/** A stream that is read. */
export interface Followed {
  bytes: number;
  readonly leave: () => void;
}

/** Signs in at a gateway, and opens a page. */
export async function showPage(
  { uri, email, password }: NonNullable<Gateway['console']>,
  path: string,
): Promise<Shown> {
  const visitor = new Visitor(atGateway(uri));
  const { status } = await visitor.signIn(email, password);
  if (status !== 303) throw new Error(`${email} cannot sign in: ${status}`);
  const page = await visitor.get(path);
  if (page.status !== 200) throw new Error(`${path}: ${page.status}`);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return { text: page.text, cookie, uri };
}

/** Opens the stream of a page, as its script does: compressed, of which each byte counts. */
export async function follow({ text, cookie, uri }: Shown): Promise<Followed> {
  const path = streamOf(text);
  const asked = get(uri + path, { headers: { cookie, 'accept-encoding': 'gzip, deflate' } });
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
  const stream = { bytes: 0, leave: () => void asked.destroy() };
  answer.on('error', () => undefined);
  answer.on('data', (chunk: Buffer) => (stream.bytes += chunk.length));
  return stream;
}

function streamOf(text: string): string {
  const own = /data-live="([^"]+)"/.exec(text)?.[1];
  if (own !== undefined) return own;
  const path = /data-list="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const ids = [...text.matchAll(/name=menu value="([^"]+)"/g)].map(([, id]) => id);
  const marks = [...text.matchAll(/data-row="([^"]+)"/g)].map(([, name = '']) => name);
  const names = marks.map((name, i) => (name.startsWith('.') ? `${ids[i]}${name}` : name));
  return `${path}${path.includes('?') ? '&' : '?'}rows=${names.join(',')}`;
}

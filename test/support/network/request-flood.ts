// Floods an HTTP server with one request, over so many connections at once; each asks again as soon
// as it is answered, and is opened anew where the server ends it. Run as
//
//   request-flood.ts PORT CONNECTIONS REQUESTS 'METHOD PATH' [HEADER]... [-- BODY]
//
// It ends after so many answers, or when its standard input ends, and prints how many it got of
// each status, how many connections were ended by the server, and the seconds.

import { connect } from 'node:net';
import process from 'node:process';

const [port = '', connections = '', requests = '', line = 'GET /', ...rest] = process.argv.slice(2);
const bodyAt = rest.indexOf('--');
const headers = bodyAt < 0 ? rest : rest.slice(0, bodyAt);
const body = bodyAt < 0 ? '' : (rest[bodyAt + 1] ?? '');
if (body !== '') headers.push(`content-length: ${Buffer.byteLength(body, 'latin1')}`);
const text = Buffer.from(
  [`${line} HTTP/1.1`, 'host: 127.0.0.1', ...headers, '', body].join('\r\n'),
  'latin1',
);
const STATUS = /^HTTP\/1\.1 (\d{3})/;
const LENGTH = /^content-length: (\d+)/im;
const END = '\r\n\r\n';

const statuses: Record<string, number> = {};
let [sent, answered, ended] = [0, 0, 0];
const began = performance.now();

function finish(): void {
  const seconds = (performance.now() - began) / 1_000;
  process.stdout.write(`${JSON.stringify({ statuses, ended, seconds })}\n`, () => process.exit());
}

function open(): void {
  const socket = connect(Number(port), '127.0.0.1');
  let received = '';
  let isAsking = false;
  const ask = (): void => {
    if (sent >= Number(requests)) return;
    sent += 1;
    isAsking = true;
    socket.write(text);
  };
  socket.setNoDelay(true).setEncoding('latin1');
  socket.once('connect', ask);
  socket.on('data', (chunk: string) => {
    received += chunk;
    const head = received.indexOf(END);
    if (head < 0) return;
    const length = Number(LENGTH.exec(received.slice(0, head))?.[1] ?? 0);
    if (received.length < head + END.length + length) return;
    const status = STATUS.exec(received)?.[1] ?? '';
    statuses[status] = (statuses[status] ?? 0) + 1;
    received = '';
    isAsking = false;
    answered += 1;
    if (answered >= Number(requests)) finish();
    else ask();
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    ended += 1;
    // What was asked and not answered is asked again.
    if (isAsking) sent -= 1;
    setImmediate(open);
  });
}

process.stdin.resume().once('end', finish);
for (let i = 0; i < Number(connections); i += 1) open();

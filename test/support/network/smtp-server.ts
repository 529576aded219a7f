// A small SMTP server under a test's control: it keeps what it took, and can refuse, be silent or
// stay away.

import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** A mail as it arrived. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The message, its lines decoded where they were quoted-printable. */
  readonly text: string;
}

/** What the server does other than a good one. */
export interface Manners {
  /** Answers by the first word of a command, in place of a good one: `550 no`. */
  refuses: Readonly<Record<string, string>>;
  /** Says nothing at all. */
  isSilent: boolean;
}

/** A server that listens on this machine. */
export interface SmtpServer {
  readonly url: string;
  readonly mails: TakenMail[];
  readonly manners: Manners;
  /** Settings of a gateway that sends by it. */
  readonly settings: Readonly<Record<string, string>>;
  /** Waits until so many mails have come. */
  waitFor(count: number): Promise<void>;
}

/** Starts one; it ends with the test. */
export async function openSmtpServer(t: ExecutionContext): Promise<SmtpServer> {
  const mails: TakenMail[] = [];
  const manners: Manners = { refuses: {}, isSilent: false };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(socket, manners, mails);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    mails,
    manners,
    settings: { SMTP_URL: url, MAIL_FROM: 'vpn@example.com' },
    waitFor: async (count) => {
      for (let i = 0; mails.length < count; i += 1) {
        if (i === 500) throw new Error(`${mails.length} of ${count} mails came`);
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
      }
    },
  };
}

function serve(socket: Socket, manners: Manners, mails: TakenMail[]): void {
  let [rest, body, from] = ['', null as string | null, ''];
  let to: string[] = [];
  const say = (line: string): boolean => socket.write(`${line}\r\n`);
  const obey = (line: string): void => {
    if (body !== null) {
      if (line !== '.') body += `${line.replace(/^\.\./, '.')}\n`;
      else {
        mails.push({ from, to, text: decoded(body) });
        body = null;
        say('250 taken');
      }
      return;
    }
    const word = line.split(/[ :]/)[0]?.toUpperCase() ?? '';
    const refusal = manners.refuses[word];
    if (refusal !== undefined) say(refusal);
    else if (word === 'EHLO') say('250-here\r\n250 AUTH PLAIN');
    else if (word === 'AUTH') say('235 welcome');
    else if (word === 'MAIL') {
      [from, to] = [addressIn(line), []];
      say('250 ok');
    } else if (word === 'RCPT') {
      to.push(addressIn(line));
      say('250 ok');
    } else if (word === 'DATA') {
      body = '';
      say('354 go on');
    } else if (word === 'QUIT') socket.end('221 bye\r\n');
    else say('250 ok');
  };
  if (!manners.isSilent) say('220 test');
  socket.on('data', (chunk) => {
    const lines = (rest + chunk.toString()).split('\r\n');
    rest = lines.pop() ?? '';
    if (!manners.isSilent) for (const line of lines) obey(line);
  });
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? '';
}

/** Quoted-printable, as far as plain text of ours needs it. */
export function decoded(text: string): string {
  if (!/quoted-printable/i.test(text)) return text;
  return text
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
}

// The mail server of SMTP_URL: how it is reached, what its errors mean, and whether it would take
// mails.

import { createTransport } from 'nodemailer';
import { hostOf } from '../../../config/index.ts';

/** How long each step may take, and all of them. */
const STEP_MS = 10_000;
const WHOLE_MS = 30_000;
/** Connections to the server at once. */
const AT_ONCE_MAX = 2;

/** Why a mail was not sent, for counters and log, and for administrators. */
export interface MailError {
  readonly reason: string;
  /** Without the dot of its end. */
  readonly text: string;
  /** What to look at, a sentence. */
  readonly fix: string;
}

interface Place {
  readonly host: string;
  readonly port: number;
  /** Whether no network is between. */
  readonly isHere: boolean;
  readonly isSecure: boolean;
  readonly user: string;
  readonly password: string;
}

function mailServerOf(smtpUrl: string): Place {
  const { protocol, port, username, password } = new URL(smtpUrl);
  const isSecure = protocol === 'smtps:';
  const host = hostOf(smtpUrl);
  return {
    host,
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    isHere: /^(localhost|127\.[\d.]+|::1)$/.test(host),
    isSecure,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}

/** Connections to the server; with `isSafe` encrypted ones alone. */
export function transportOf(smtpUrl: string, isSafe = false) {
  const { host, port, isHere, isSecure, user, password } = mailServerOf(smtpUrl);
  return createTransport({
    pool: true,
    maxConnections: AT_ONCE_MAX,
    host,
    port,
    secure: isSecure,
    // A password is never sent in the clear over a network.
    requireTLS: isSafe || (user !== '' && !isHere),
    ...(user === '' ? {} : { auth: { user, pass: password } }),
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    dnsTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Waits for the server, but not for longer than half a minute. */
export async function soon<Answer>(asked: Promise<Answer>): Promise<Answer> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('too slow')), WHOLE_MS);
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What an error of nodemailer means; what the server wrote is not repeated. */
export function errorOf(error: unknown): MailError {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  const answer = responseCode === undefined ? '' : ` (it answered ${responseCode})`;
  if (code === 'EAUTH')
    return {
      reason: 'mail_login_refused',
      text: `The mail server refused user or password${answer}`,
      fix: 'Look at SMTP_URL.',
    };
  if (isOfTls(error))
    return {
      reason: 'mail_server_away',
      text: 'The mail server cannot be reached over TLS',
      fix: 'Look at its certificate (NODE_EXTRA_CA_CERTS names an authority of your own), and at SMTP_URL: smtps:// begins with TLS, smtp:// with STARTTLS.',
    };
  if (responseCode !== undefined)
    return {
      reason: 'mail_refused',
      text: `The mail server refused the mail${answer}`,
      fix: 'Look at MAIL_FROM, at the e-mail, and at the log of that server.',
    };
  return {
    reason: 'mail_server_away',
    text: 'The mail server cannot be reached, or takes too long',
    fix: 'Check SMTP_URL, and whether this host reaches that server.',
  };
}

/** A refused certificate is an error of the socket that no call of the system gave. */
function isOfTls(error: unknown): boolean {
  const { code, originalCode, syscall } = error as Record<string, string | undefined>;
  return code === 'ETLS' || (originalCode !== undefined && syscall === undefined);
}

/** The result of greeting the server. */
export interface Greeting {
  /** Host and port. */
  readonly server: string;
  /** Null: it would take mails. */
  readonly error: MailError | null;
  /** Whether nobody between reads the mails. */
  readonly isSafe: boolean;
}

/** Connects and signs in as for a mail, and sends none. */
export async function greet(smtpUrl: string): Promise<Greeting> {
  const { host, port, isHere } = mailServerOf(smtpUrl);
  const server = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const error = await tryOnce(smtpUrl, !isHere);
  if (error === null) return { server, error: null, isSafe: true };
  // A server without STARTTLS takes mails in the clear where SMTP_URL has no password.
  const isPlain = !isHere && (error as { code?: string }).code === 'ETLS';
  const plain = isPlain ? await tryOnce(smtpUrl, false) : error;
  return { server, error: plain === null ? null : errorOf(plain), isSafe: plain !== null };
}

async function tryOnce(smtpUrl: string, isSafe: boolean): Promise<unknown> {
  const transport = transportOf(smtpUrl, isSafe);
  try {
    await soon(transport.verify());
    return null;
  } catch (error) {
    return error;
  } finally {
    transport.close();
  }
}

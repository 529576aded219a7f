// Debian's Exim as the mail server of a test, on loopback: mails for example.com are kept in a
// folder. It takes them over STARTTLS from one user alone, as the mail server of a company does.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { until } from '../gateway/postern.ts';
import { freePort } from './free-port.ts';
import { decoded } from './smtp-server.ts';

/** In full: ordinary accounts have no /usr/sbin in their path. */
const EXIM = '/usr/sbin/exim4';
/** The account of Debian's package, which delivers. */
const ACCOUNT = 'Debian-exim';
/** Who may send; the password has characters that a URL does not take as they are. */
const USER = 'postern';
const PASSWORD = 'p@ss/w#rd';

/** A mail server that runs. */
export interface Exim {
  /** The address of the server for a user with a password; by default those that are right. */
  readonly url: (password?: string) => string;
  /** Settings of a gateway that sends by it, and trusts its certificate. */
  readonly settings: Readonly<Record<string, string>>;
  /** The mails that were delivered to an address, waiting until there are so many. */
  readonly mailsTo: (address: string, count?: number) => Promise<string[]>;
  readonly stop: () => Promise<void>;
}

/** Starts one; it ends with the test. */
export async function openExim(t: ExecutionContext): Promise<Exim> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-exim-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  makeCertificate(folder);
  for (const name of ['spool', 'log', 'mail']) mkdirSync(join(folder, name));
  execFileSync('chown', ['-R', ACCOUNT, folder]);
  // Exim takes its configuration from root, who may read the folder too.
  writeFileSync(join(folder, 'exim.conf'), configuration(folder, port));
  chmodSync(folder, 0o755);
  const child = spawn(EXIM, ['-C', join(folder, 'exim.conf'), '-bdf'], { stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  t.teardown(stop);
  await until('Exim listens', () => isListening(port, child));
  const url = (password = PASSWORD): string =>
    `smtp://${USER}:${encodeURIComponent(password)}@localhost:${port}`;
  return {
    url,
    settings: {
      SMTP_URL: url(),
      MAIL_FROM: 'vpn@example.com',
      NODE_EXTRA_CA_CERTS: join(folder, 'server.crt'),
    },
    mailsTo: async (address, count = 1) => {
      let found: string[] = [];
      await until(`${count} mails to ${address}`, async () => {
        found = mailsIn(folder).filter((mail) => mail.startsWith(`Envelope-to: ${address}\n`));
        return found.length >= count;
      });
      return found;
    },
    stop,
  };
}

/** In the order of their delivery: the name of a file begins with its time. */
function mailsIn(folder: string): string[] {
  const box = join(folder, 'mail/new');
  const names = existsSync(box) ? readdirSync(box).toSorted() : [];
  return names.map((name) => decoded(readFileSync(join(box, name), 'utf8')));
}

function makeCertificate(folder: string): void {
  const names = 'subjectAltName=DNS:localhost';
  const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', 'server.key'];
  const made = ['-out', 'server.crt', '-days', '2', '-subj', '/CN=localhost', '-addext', names];
  execFileSync('openssl', ['req', '-x509', ...key, ...made], { cwd: folder, stdio: 'pipe' });
}

async function isListening(port: number, { exitCode }: ChildProcess): Promise<boolean> {
  if (exitCode !== null) throw new Error(`Exim ended with ${exitCode}`);
  const socket = connect(port, '127.0.0.1');
  const found = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return found;
}

/** Signing in is offered over TLS alone, and nobody else may send. */
function configuration(folder: string, port: number): string {
  return `
primary_hostname = mail.example.com
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%s
pid_file_path = ${folder}/spool/exim.pid
keep_environment =
tls_advertise_hosts = *
tls_certificate = ${folder}/server.crt
tls_privatekey = ${folder}/server.key
auth_advertise_hosts = \${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = rcpt
begin acl
rcpt:
  deny message = no such domain here
       !domains = example.com
  accept authenticated = *
  deny message = sign in first
begin routers
everybody:
  driver = accept
  transport = folder
begin transports
folder:
  driver = appendfile
  directory = ${folder}/mail
  maildir_format
  envelope_to_add
  user = ${ACCOUNT}
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{$auth2}{${USER}}}{eq{$auth3}{${PASSWORD}}}}}
  server_set_id = $auth2
`;
}

// The doctor: looks at everything that a gateway needs, before or while one runs, and says of each
// thing whether it is well, and how to mend what is not. It changes nothing and makes nothing: no
// folder, no key, no migration.

import { constants, accessSync, existsSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { derivePublicKey, type Finding, inspectHost } from '../dataplane/index.ts';
import {
  checkEncryptionKey,
  type Database,
  pendingMigrations,
  readClocks,
} from '../models/index.ts';
import { readCertificate } from './api/tls.ts';
import type { Outcome } from './commands.ts';
import { sayFault } from './database-fault.ts';
import { encryptionKeyFile, serverPrivateKey } from './first-start.ts';
import { messageOf } from './observe/log.ts';
import { askReadiness, localUrl } from './ready.ts';
import { networksOf } from './tunnel-networks.ts';

/** Clocks of a gateway and of its database may be so far apart. */
const CLOCK_SKEW_MS = 2_000;
/** A certificate is renewed before it has so long to go. */
const RENEWAL_MS = 14 * 86_400_000;
const DAY_MS = 86_400_000;

const LEVEL_WIDTH = 'warning'.length + 2;
const CHECK_WIDTH = 'router advertisements'.length + 2;

/** What the doctor is told. */
export interface Patient {
  readonly config: Config;
  /** What reading the settings already gave to think about. */
  readonly advice: readonly string[];
  readonly openDatabase: () => Promise<Database>;
}

/** Looks at everything; `isWell` unless something failed. */
export async function diagnose(
  patient: Patient,
): Promise<{ findings: Finding[]; isWell: boolean }> {
  const { config, advice } = patient;
  const isRunning = await answers(config);
  const findings = [
    ...advice.map((message) => warning('settings', message, null)),
    ...(await inspectHost({ ...hostOf(config), isRunning })),
    await httpPort(config, isRunning),
    ...certificate(config),
    ...(await database(patient)),
  ];
  return { findings, isWell: findings.every(({ level }) => level !== 'failed') };
}

/** What a person is shown, a line for each finding, and below it the mend. */
export function report(findings: readonly Finding[], isWell: boolean): Outcome {
  const lines = findings.flatMap(({ level, check, message, mend }) => [
    `${level.padEnd(LEVEL_WIDTH)}${check.padEnd(CHECK_WIDTH)}${message}`,
    ...(mend === null ? [] : [`${' '.repeat(LEVEL_WIDTH)}mend: ${mend}`]),
  ]);
  return { text: lines.join('\n'), data: { well: isWell, findings } };
}

function ok(check: string, message: string): Finding {
  return { check, level: 'ok', message, mend: null };
}

function warning(check: string, message: string, mend: string | null): Finding {
  return { check, level: 'warning', message, mend };
}

function failed(check: string, message: string, mend: string): Finding {
  return { check, level: 'failed', message, mend };
}

function hostOf(config: Config): Omit<Parameters<typeof inspectHost>[0], 'isRunning'> {
  return {
    interfaceName: config.wireguardInterface,
    listenPort: config.wireguardPort,
    ...networksOf(config),
    masqueradeIpv4: config.wireguardIpv4Masquerade,
    masqueradeIpv6: config.wireguardIpv6Masquerade,
    egressInterface: config.gatewayEgressInterface,
    forwarding: config.gatewayForwarding,
    tun: config.wireguardTun,
  };
}

// ---- HTTP ------------------------------------------------------------------------------------

/** Whether a gateway answers under these settings. */
async function answers(config: Config): Promise<boolean> {
  if (config.httpPort === 0) return false;
  try {
    const answer = JSON.parse((await askReadiness(localUrl(config))).body) as { status?: unknown };
    return typeof answer.status === 'string';
  } catch {
    return false;
  }
}

async function httpPort(
  { httpHost, httpPort: port }: Config,
  isRunning: boolean,
): Promise<Finding> {
  const check = 'HTTP port';
  if (isRunning) return ok(check, `a gateway answers at ${httpHost}:${port}`);
  const server = createServer();
  try {
    server.listen(port, httpHost);
    await once(server, 'listening');
    return ok(check, `TCP ${httpHost}:${port} is free`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      return failed(
        check,
        `TCP ${httpHost}:${port} is taken by another process`,
        `stop what uses it (ss -ltnp 'sport = ${port}') or set HTTP_PORT to another`,
      );
    return failed(
      check,
      `TCP ${httpHost}:${port} cannot be listened on: ${message}`,
      code === 'EACCES'
        ? 'set HTTP_PORT to 1024 or more, or give CAP_NET_BIND_SERVICE'
        : 'set HTTP_HOST to an address of this host',
    );
  } finally {
    server.close();
  }
}

function certificate(config: Config): Finding[] {
  const check = 'certificate';
  try {
    const found = readCertificate(config);
    if (found === null) return [];
    const left = found.validUntil.getTime() - Date.now();
    const until = `until ${found.validUntil.toISOString()}`;
    const mend = 'renew it; the files are read again when they change';
    if (left < 0) return [failed(check, `the certificate was valid ${until}`, mend)];
    if (left < RENEWAL_MS)
      return [
        warning(check, `the certificate is valid for ${Math.floor(left / DAY_MS)} days`, mend),
      ];
    return [ok(check, `the certificate is valid ${until}`)];
  } catch (error) {
    return [failed(check, messageOf(error), 'look at HTTP_TLS_CERT and HTTP_TLS_KEY')];
  }
}

// ---- database, keys, clock -------------------------------------------------------------------

async function database(patient: Patient): Promise<Finding[]> {
  const { config } = patient;
  const file = fileOf(config);
  const folder = file === null ? config.dataDir : dirname(file);
  const findings = folderFindings(config, folder);
  if (file !== null && !existsSync(file))
    return [...findings, ok('database', `${file} will be made at the first start`)];
  const keyFile = encryptionKeyFile(config);
  if (config.databaseEncryptionKey === null && !existsSync(keyFile))
    return [
      ...findings,
      failed(
        'keys',
        `${keyFile} is missing, so that nothing secret in ${file} can be read`,
        'restore the file from a backup, or set DATABASE_ENCRYPTION_KEY to what it held',
      ),
    ];
  let opened: Database;
  try {
    opened = await patient.openDatabase();
  } catch (error) {
    return [
      ...findings,
      failed(
        'database',
        sayFault(error, config),
        'start the server, or mend what the setting says',
      ),
    ];
  }
  try {
    return [...findings, ...(await insideOf(opened, config))];
  } finally {
    await opened.close();
  }
}

function folderFindings({ dataDir }: Config, folder: string): Finding[] {
  return [...new Set([dataDir, folder].map((path) => resolve(path)))].map((path) => {
    const nearest = nearestFolder(path);
    try {
      accessSync(nearest, constants.W_OK | constants.X_OK);
    } catch {
      return failed(
        'data folder',
        `${nearest} cannot be written`,
        `chown it to the user that runs Postern: chown -R USER ${nearest}`,
      );
    }
    if (nearest === path && (statSync(path).mode & 0o077) !== 0)
      return warning('data folder', `${path} can be opened by other users`, `chmod 700 ${path}`);
    return ok('data folder', nearest === path ? path : `${path} will be made at the first start`);
  });
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

/** The file of a SQLite database; null with a server, or in memory. */
function fileOf({ databaseHost, databaseUrl, dataDir }: Config): string | null {
  if (databaseHost !== null) return null;
  if (databaseUrl === null) return resolve(dataDir, 'postern.sqlite');
  const path = /^sqlite:(.*)/.exec(databaseUrl)?.[1];
  return path === undefined || path === ':memory:' ? null : resolve(path);
}

async function insideOf(opened: Database, config: Config): Promise<Finding[]> {
  try {
    const pending = await pendingMigrations(opened);
    if (pending.length > 0)
      return [
        warning(
          'database',
          `it answers; ${pending.length} migrations are to come: ${pending.join(', ')}`,
          'nothing: the next start runs them; make a backup before',
        ),
      ];
  } catch (error) {
    return [failed('database', messageOf(error), 'run the version that the database is of')];
  }
  return [
    ok('database', 'it answers, and its schema is of this version'),
    await keys(opened, config),
    await clock(opened),
  ];
}

async function keys(opened: Database, config: Config): Promise<Finding> {
  try {
    await checkEncryptionKey(opened);
    const publicKey = derivePublicKey(await serverPrivateKey(config, opened));
    return ok('keys', `the gateway's public key is ${Buffer.from(publicKey).toString('base64')}`);
  } catch (error) {
    return failed('keys', messageOf(error), 'look at DATABASE_ENCRYPTION_KEY, or restore a backup');
  }
}

async function clock(opened: Database): Promise<Finding> {
  const check = 'clock and database';
  const { server, lastSeen } = await readClocks(opened);
  const now = Date.now();
  const mend = 'set the clock right: timedatectl set-ntp true';
  const away = server === null ? 0 : Math.abs(server.getTime() - now);
  if (away > CLOCK_SKEW_MS)
    return failed(
      check,
      `the clocks of this host and of the database are ${Math.round(away / 1_000)} s apart`,
      mend,
    );
  const ahead = lastSeen === null ? 0 : lastSeen.getTime() - now;
  if (ahead > CLOCK_SKEW_MS)
    return failed(
      check,
      `this host's clock is at least ${Math.round(ahead / 1_000)} s behind what it, or another gateway, has been at`,
      mend,
    );
  return ok(check, 'the clock agrees with what the database knows');
}

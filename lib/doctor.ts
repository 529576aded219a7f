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
  type Database,
  pendingMigrations,
  readClocks,
  readSealingKeys,
  refuseOtherKey,
} from '../models/index.ts';
import { readCertificate } from './api/tls.ts';
import { effectiveConfiguration } from './api/v0/effective-configuration.ts';
import { fixedSettingsOf } from './api/v0/fixed-settings.ts';
import { letInCommand, readAdministration } from './auth/administrators.ts';
import type { Outcome } from './commands.ts';
import { mendOf, sayFault } from './database-fault.ts';
import { databaseFile, roomOf } from './database-place.ts';
import { forgottenCredentials } from './first-credentials.ts';
import { encryptionKeyFile, knownServerPrivateKey } from './first-start.ts';
import { finishRotation, unknownKeys } from './keys/advice.ts';
import { isRotationUnfinished } from './keys/encryption-keys.ts';
import { messageOf } from './observe/log.ts';
import { askReadiness, localUrl } from './ready.ts';
import { networksOf } from './tunnel-networks.ts';

/** Clocks of a gateway and of its database may be so far apart. */
const CLOCK_SKEW_MS = 2_000;
/** A certificate is renewed before it has so long to go. */
const RENEWAL_MS = 14 * 86_400_000;
const DAY_MS = 86_400_000;

const MIB = 1_048_576;
const GIB = 1_024 * MIB;
/** With less the next writes fail: the log of a SQLite file takes 4 MB until it is emptied. */
const ROOM_MIN = 16 * MIB;
/**
 * With less an upgrade may fail. It makes a backup first, 102 MB with 100,000 devices (README.md of
 * models/backup), and what it then moves stands in the log once more.
 */
const ROOM_ENOUGH = 256 * MIB;

const LEVEL_WIDTH = 'warning'.length + 2;
const CHECK_WIDTH = 'router advertisements'.length + 2;

/** What the doctor is told. */
export interface Patient {
  readonly config: Config;
  /** What reading the settings already gave to think about. */
  readonly advice: readonly string[];
  readonly openDatabase: () => Promise<Database>;
  /** Bytes that are free where a folder is, null where nobody knows; replaced in tests. */
  readonly roomOf?: (folder: string) => number | null;
}

/** Looks at everything; `isWell` unless something failed. */
export async function diagnose(
  patient: Patient,
): Promise<{ findings: Finding[]; isWell: boolean }> {
  const { config, advice } = patient;
  const status = await statusOf(config);
  const isRunning = status !== null;
  const findings = [
    ...advice.map((message) => warning('settings', message, null)),
    ...(await inspectHost({ ...hostOf(config), isRunning })),
    await httpPort(config, isRunning),
    ...certificate(config),
    ...(await database(patient, status)),
  ];
  return { findings, isWell: findings.every(({ level }) => level !== 'failed') };
}

/** What is found when the settings have faults: where the rest is, nobody can tell then. */
export function judgeSettings(faults: readonly string[], warnings: readonly string[]): Finding[] {
  const mend = 'set it right; config/README.md lists all settings';
  return [
    ...faults.map((fault) => failed('settings', fault, mend)),
    ...warnings.map((message) => warning('settings', message, null)),
  ];
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

/** What a gateway under these settings answers of itself; null where none does. */
async function statusOf(config: Config): Promise<string | null> {
  if (config.httpPort === 0) return null;
  try {
    const answer = JSON.parse((await askReadiness(localUrl(config))).body) as { status?: unknown };
    return typeof answer.status === 'string' ? answer.status : null;
  } catch {
    return null;
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

async function database(patient: Patient, status: string | null): Promise<Finding[]> {
  const { config } = patient;
  const set = databaseFile(config);
  const file = set === null ? null : resolve(set);
  const folders = [config.dataDir, ...(file === null ? [] : [dirname(file)])];
  const findings = folderFindings(folders, patient.roomOf ?? roomOf);
  if (file !== null && !existsSync(file)) return [...findings, absent(file, status)];
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

/** A file that is not there; `status` is what a gateway answers. */
function absent(file: string, status: string | null): Finding {
  const check = 'database';
  if (status === null) return ok(check, `${file} will be made at the first start`);
  if (status !== 'database_unavailable')
    return warning(
      check,
      `a gateway runs, and not with ${file}, which is not there`,
      'run the doctor with the settings of that gateway (DATA_DIR, DATABASE_URL)',
    );
  return failed(
    check,
    `${file} is gone, and the gateway that runs takes no writes`,
    'put it back where it was; if it is lost, stop the gateway, restore a backup and start again',
  );
}

function folderFindings(folders: readonly string[], room: typeof roomOf): Finding[] {
  const paths = [...new Set(folders.map((path) => resolve(path)))];
  const byDisk = new Map(paths.map(nearestFolder).map((path) => [statSync(path).dev, path]));
  return [
    ...paths.map(folderFinding),
    ...[...byDisk.values()].flatMap((path) => roomFindings(path, room(path))),
  ];
}

function folderFinding(path: string): Finding {
  const check = 'data folder';
  const nearest = nearestFolder(path);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch {
    return failed(
      check,
      `${nearest} cannot be written`,
      `chown it to the user that runs Postern: chown -R USER ${nearest}`,
    );
  }
  if (nearest === path && (statSync(path).mode & 0o077) !== 0)
    return warning(check, `${path} can be opened by other users`, `chmod 700 ${path}`);
  return ok(check, nearest === path ? path : `${path} will be made at the first start`);
}

function roomFindings(path: string, room: number | null): Finding[] {
  if (room === null) return [];
  const check = 'disk space';
  const free = room < GIB ? `${Math.floor(room / MIB)} MiB` : `${Math.floor(room / GIB)} GiB`;
  const mend = `free space on the disk of ${path}, or move what is there to a larger one`;
  const message = `${free} are free on the disk of ${path}`;
  if (room < ROOM_MIN) return [failed(check, `${message}: writes are about to fail`, mend)];
  if (room < ROOM_ENOUGH)
    return [warning(check, `${message}: an upgrade, which backs up first, may fail`, mend)];
  return [ok(check, message)];
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
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
    const mend = 'run the version that the database is of';
    return [failed('database', messageOf(error), mendOf(error, config)?.advice ?? mend)];
  }
  const ofKeys = await keys(opened, config);
  const isReadable = ofKeys.every(({ level }) => level !== 'failed');
  return [
    ok('database', 'it answers, and its schema is of this version'),
    ...ofKeys,
    ...(isReadable ? await administrators(opened, config) : []),
    await clock(opened),
  ];
}

async function keys(opened: Database, config: Config): Promise<Finding[]> {
  const check = 'keys';
  try {
    await refuseOtherKey(opened);
    const needed = await readSealingKeys(opened);
    const unknown = unknownKeys(needed, opened);
    if (unknown.length > 0)
      return [
        failed(
          check,
          `secrets are encrypted with a key that is not known here: ${unknown.join(', ')}`,
          'set DATABASE_ENCRYPTION_KEY_OLD to it; if it is lost, a rotation leaves these secrets as ' +
            `they are and names them (${finishRotation(config)}): set them anew`,
        ),
      ];
    const privateKey = await knownServerPrivateKey(config, opened);
    const said =
      privateKey === null
        ? "the gateway's own key will be made at the first start"
        : `the gateway's public key is ${Buffer.from(derivePublicKey(privateKey)).toString('base64')}`;
    return [ok(check, said), ...keyRotation(needed, opened, config)];
  } catch (error) {
    const mend = 'look at DATABASE_ENCRYPTION_KEY, or restore a backup';
    return [failed(check, messageOf(error), mendOf(error, config)?.advice ?? mend)];
  }
}

/** Whether anybody can administer, and whether the first password lies where the start put it. */
async function administrators(opened: Database, config: Config): Promise<Finding[]> {
  const check = 'administrator';
  const file = forgottenCredentials(config);
  const findings =
    file === null
      ? []
      : [
          warning(
            check,
            `the password and the API token of the first administrator are still in ${file}`,
            `keep them elsewhere and delete the file: rm ${file}`,
          ),
        ];
  const stored = await opened.models.Configuration.findOne();
  if (stored === null) return [...findings, ok(check, 'one will be made at the first start')];
  const settings = effectiveConfiguration(stored, fixedSettingsOf(config));
  const { canSignIn, email } = await readAdministration(opened, settings);
  if (canSignIn) return [...findings, ok(check, 'an administrator can sign in')];
  if (email === null) return [...findings, ok(check, 'one will be made at the next start')];
  return [...findings, warning(check, 'no administrator can sign in', letInCommand(email))];
}

/** Whether more keys are in use than one. */
function keyRotation(needed: readonly string[], opened: Database, config: Config): Finding[] {
  const check = 'key rotation';
  const { keyId } = opened.keyring;
  const mend = finishRotation(config);
  if (isRotationUnfinished(config))
    return [warning(check, 'it was begun and not finished, so that two keys may be needed', mend)];
  const older = needed.filter((key) => key !== keyId);
  if (older.length > 0)
    return [
      warning(
        check,
        `secrets are encrypted with an earlier key (${older.join(', ')}); the present one is ${keyId}`,
        mend,
      ),
    ];
  if (config.databaseEncryptionKeyOld === null) return [];
  return [
    warning(
      check,
      'DATABASE_ENCRYPTION_KEY_OLD is set, and no secret needs it',
      'take it away from every gateway, unless a rotation or a restore is about to begin',
    ),
  ];
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

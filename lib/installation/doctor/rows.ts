// The doctor on what the database holds: its schema, its free space, the keys of its secrets, where
// devices are led, who can administer, and whether its clock agrees with ours.

import type { Config } from '../../../config/index.ts';
import { derivePublicKey } from '../../../dataplane/index.ts';
import {
  assertRights,
  type Database,
  JUMP_MAX_MS,
  pendingMigrations,
  readClocks,
  readForgettingClock,
  readFileSpace,
  readSealingKeys,
  refuseOtherKey,
  tryWriting,
} from '../../../models/index.ts';
import { ALIKE_FIX, readDifferences } from '../../kit/records/gateway-differences.ts';
import { effectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import { fixedSettingsOf } from '../../domain/configuration/fixed-settings.ts';
import { letInCommand, readAdministration } from '../../auth/administrators.ts';
import { groupsFindings } from '../../auth/identity/groups-findings.ts';
import { metadataFindings } from '../../auth/saml/metadata-findings.ts';
import { fixOf } from '../../kit/database/say-error.ts';
import { defaultEndpoint, defaultSettings } from '../../domain/devices/settings.ts';
import { forgottenCredentials } from '../setup/first-credentials.ts';
import { knownServerPrivateKey } from '../setup/first-start.ts';
import { finishRotation, unknownKeys } from '../keys/advice.ts';
import { isRotationUnfinished } from '../keys/encryption-keys.ts';
import { commandLine } from '../../kit/process/command-line.ts';
import { messageOf } from '../../kit/process/message.ts';
import { backups } from './backups.ts';
import { failed, type Finding, ok, warning } from './finding.ts';
import { endpoint } from './serving.ts';

const MIB = 1_048_576;
/** Less is soon used again. */
const FREE_BYTES_MANY = 32 * MIB;
/** Clocks of a gateway and of its database may be so far apart. */
const CLOCK_SKEW_MS = 2_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Looks into an open database: schema, free space, keys, administrators, fetched metadata, clock;
 * `also` looks where the schema is of this version.
 */
export async function rows(
  opened: Database,
  config: Config,
  also: (opened: Database, config: Config) => Promise<Finding[]> = async () => [],
): Promise<Finding[]> {
  let ofWrites: Finding[];
  try {
    const pending = await pendingMigrations(opened);
    ofWrites = await writes(opened, config, pending.length > 0);
    if (pending.length > 0)
      return [
        ...ofWrites,
        warning(
          'database',
          `it answers; ${pending.length} migrations are to come: ${pending.join(', ')}`,
          'nothing: the next start runs them; make a backup before',
        ),
      ];
  } catch (error) {
    const fix = 'run the version that migrated the database';
    return [failed('database', messageOf(error), fixOf(error, config)?.advice ?? fix)];
  }
  const ofKeys = await keys(opened, config);
  const isReadable = ofKeys.every(({ level }) => level !== 'failed');
  return [
    ok('database', 'it answers, and its schema is of this version'),
    ...ofWrites,
    ...(await freeSpace(opened)),
    ...(await also(opened, config)),
    ...ofKeys,
    ...(isReadable ? await people(opened, config) : []),
    ...(isReadable ? await samlMetadata(opened, config) : []),
    ...(isReadable ? await providerGroups(opened, config) : []),
    ...(await gateways(opened)),
    ...(await backups(opened)),
    await clock(opened),
    await oldRows(opened),
  ];
}

/** Whether the database takes writes, and lets its user do all that is needed. */
async function writes(opened: Database, config: Config, isMigrating: boolean): Promise<Finding[]> {
  const check = 'writes';
  try {
    await assertRights(opened, { isMigrating });
    await tryWriting(opened);
    return [ok(check, 'the database takes writes')];
  } catch (error) {
    const fix = fixOf(error, config);
    const message = fix === null ? messageOf(error) : `${fix.what}: ${messageOf(error)}`;
    return [failed(check, message, fix?.advice ?? 'let that statement be run, then start again')];
  }
}

/** Whether a SQLite file of an earlier version holds much that is free. */
async function freeSpace(opened: Database): Promise<Finding[]> {
  const space = await readFileSpace(opened);
  if (space === null || space.canShrink || space.freeBytes < FREE_BYTES_MANY) return [];
  const { path, bytes, freeBytes } = space;
  const [free, all] = [freeBytes, bytes].map((value) => `${Math.round(value / MIB)} MiB`);
  return [
    warning(
      'database file',
      `${free} of the ${all} of ${path} are free, and a file of an earlier version does not shrink by itself`,
      `stop the gateway, then: ${commandLine('database compact')}`,
    ),
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
    const fix = 'do what it says: set the key of this database, or restore a backup';
    return [failed(check, messageOf(error), fixOf(error, config)?.advice ?? fix)];
  }
}

/** Whether devices find the gateway, and whether anybody can administer it. */
async function people(opened: Database, config: Config): Promise<Finding[]> {
  const stored = await opened.models.Configuration.findOne();
  const left = leftBehind(config);
  const check = 'administrator';
  if (stored === null)
    return [
      endpoint(defaultEndpoint(config)),
      ...left,
      ok(check, 'one will be made at the first start'),
    ];
  const settings = effectiveConfiguration(stored, fixedSettingsOf(config));
  const found = [endpoint(defaultSettings(settings, config).endpoint), ...left];
  const { canSignIn, email } = await readAdministration(opened, settings);
  if (canSignIn) return [...found, ok(check, 'an administrator can sign in')];
  if (email === null) return [...found, ok(check, 'one will be made at the next start')];
  return [...found, warning(check, 'no administrator can sign in', letInCommand(email))];
}

/** Whether the metadata of SAML providers can be fetched from their addresses. */
async function samlMetadata(opened: Database, config: Config): Promise<Finding[]> {
  const stored = await opened.models.Configuration.findOne();
  if (stored === null) return [];
  const settings = effectiveConfiguration(stored, fixedSettingsOf(config));
  const problems = await metadataFindings(opened, settings.saml_identity_providers);
  return problems.map(({ text, fix }) => warning('SAML metadata', text, fix));
}

/** Whether the groups of people are those that their providers mean. */
async function providerGroups(opened: Database, config: Config): Promise<Finding[]> {
  const stored = await opened.models.Configuration.findOne();
  if (stored === null) return [];
  const settings = effectiveConfiguration(stored, fixedSettingsOf(config));
  const errors = await groupsFindings(opened, settings);
  return errors.map(({ text, fix }) => warning('groups of providers', text, fix));
}

/** Whether the first password lies where the start put it. */
function leftBehind(config: Config): Finding[] {
  const file = forgottenCredentials(config);
  if (file === null) return [];
  return [
    warning(
      'administrator',
      `the password and the API token of the first administrator are still in ${file}`,
      `keep them elsewhere and delete the file: rm ${file}`,
    ),
  ];
}

/** Whether more keys are in use than one. */
function keyRotation(needed: readonly string[], opened: Database, config: Config): Finding[] {
  const check = 'key rotation';
  const { keyId } = opened.keyring;
  const fix = finishRotation(config);
  if (isRotationUnfinished(config))
    return [warning(check, 'it was begun and not finished, so that two keys may be needed', fix)];
  const older = needed.filter((key) => key !== keyId);
  if (older.length > 0)
    return [
      warning(
        check,
        `secrets are encrypted with an earlier key (${older.join(', ')}); the present one is ${keyId}`,
        fix,
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

/** Whether all gateways that run have alike what they must. */
async function gateways(opened: Database): Promise<Finding[]> {
  const differences = await readDifferences(opened);
  return differences.map((text) => warning('gateways', text, ALIKE_FIX));
}

async function clock(opened: Database): Promise<Finding> {
  const check = 'clock and database';
  const { server, lastSeen } = await readClocks(opened);
  const now = Date.now();
  const fix = 'set the clock right: timedatectl set-ntp true';
  const away = server === null ? 0 : Math.abs(server.getTime() - now);
  if (away > CLOCK_SKEW_MS)
    return failed(
      check,
      `the clocks of this host and of the database are ${Math.round(away / 1_000)} s apart`,
      fix,
    );
  const ahead = lastSeen === null ? 0 : lastSeen.getTime() - now;
  if (ahead > CLOCK_SKEW_MS)
    return failed(
      check,
      `this host's clock is at least ${Math.round(ahead / 1_000)} s behind a time that it, or another gateway, has already had`,
      fix,
    );
  return ok(check, 'the clock agrees with what the database knows');
}

/** Whether the clock has jumped since old rows were forgotten last. */
async function oldRows(opened: Database): Promise<Finding> {
  const check = 'forgetting';
  const found = await readForgettingClock(opened);
  if (found === null) return ok(check, 'no old row was deleted yet');
  const { sinceMs, behindMs } = found;
  const days = (ms: number): string => `${Math.round((ms / DAY_MS) * 10) / 10} days`;
  if (behindMs > JUMP_MAX_MS)
    return warning(
      check,
      `the clock is ${days(behindMs)} ahead of the clock by which old rows are deleted`,
      'if the clock is wrong, set it now; if no gateway ran for so long, do nothing: what is too old goes within as many days again',
    );
  if (sinceMs < -HOUR_MS)
    return warning(
      check,
      `the clock was set back by ${days(-sinceMs)} since old rows were forgotten last`,
      'look whether it is right now; if it is, do nothing',
    );
  return ok(check, 'no jump of the clock holds up the deletion of old rows');
}

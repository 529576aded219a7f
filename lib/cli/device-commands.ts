// The device commands that make a device with its key pair, and print the file of one. The private
// key is printed and never stored.

import { randomBytes } from 'node:crypto';
import type { QrCodeGenerateResult } from 'uqr';
import { derivePublicKey, makePrivateKey } from '../../dataplane/index.ts';
import {
  type Database,
  type DeviceRow,
  noteClientFile,
  readDevices,
  readOrCreateConfiguration,
} from '../../models/index.ts';
import { fixedIfAny } from '../domain/configuration/fixed-if-any.ts';
import {
  type ClientConfig,
  clientConfigOf,
  clientFile,
  clientFileHash,
  clientFileName,
} from '../domain/devices/client-config.ts';
import { includedRoutes } from '../domain/devices/routes.ts';
import { defaultSettings } from '../domain/devices/settings.ts';
import { endpoint } from '../installation/doctor/serving.ts';
import { type GatewayOfFiles, gatewayOfFiles } from '../installation/setup/running-gateway.ts';
import { noDevice } from '../kit/process/absent.ts';
import { effectiveConfiguration } from '../kit/records/effective-configuration.ts';
import { dataOf } from './device-list.ts';
import { routesIn } from './device-rows.ts';
import { findsIn, findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';

/** What is said in place of a code. */
const TOO_LONG =
  'The file is too long for a QR code. Save it, and bring it to the device in another way.';
/** White modules around a QR code, which readers need to find it. */
const QUIET_MODULES = 4;
/** White on black, whatever the terminal's own colours are. */
const [CODE_COLOURS, OWN_COLOURS] = ['\u001B[97;40m', '\u001B[0m'];

/** The commands. */
export const deviceCommands: Partial<Record<CommandName, Run>> = {
  'device create': createDevice,
  'device config': printFile,
};

async function createDevice(
  given: Given,
  { options: { email = '', name = '', routes, qr } }: Command,
): Promise<Outcome> {
  const { config, database } = given;
  const owner = await findUser(database, email);
  const privateBytes = makePrivateKey((bytes) => bytes.set(randomBytes(bytes.length)));
  const privateKey = textOfKey(privateBytes);
  const public_key = textOfKey(derivePublicKey(privateBytes));
  const gateway = await gatewayOfFiles(config, database);
  const device = { user_id: owner.id, name, public_key, ...routesIn(routes) };
  const { answer } = await performOperation(given, 'createDevice', { body: { device } });
  const { row, client } = await findDevice(gateway, database, String(answer['id']));
  await noteClientFile(database, row.id, clientFileHash(client));
  const file = clientFile(client, privateKey);
  const data = { ...dataOf(row, owner.email), file_name: clientFileName(row.name), file };
  const code = qr ? await codeInWords(file) : null;
  const shown = code === null ? { text: file.trimEnd() } : { text: file, picture: code };
  const notes = [noteOn(gateway, client), qr && code === null ? TOO_LONG : null];
  return { ...shown, data, ...noteOf(notes) };
}

async function printFile(
  { config, database }: Given,
  { options: { id = '' } }: Command,
): Promise<Outcome> {
  const gateway = await gatewayOfFiles(config, database);
  const { row, client } = await findDevice(gateway, database, id);
  const file = clientFile(client);
  const data = { id: row.id, file_name: clientFileName(row.name), file };
  return { text: file.trimEnd(), data, ...noteOf([noteOn(gateway, client)]) };
}

async function findDevice(
  gateway: GatewayOfFiles,
  database: Database,
  named: string,
): Promise<{ row: DeviceRow; client: ClientConfig }> {
  const { id } = await findsIn(database).device(named);
  const [row] = await readDevices(database, { ids: [id] });
  if (row === undefined) throw noDevice(named);
  const stored = await readOrCreateConfiguration(database);
  const configuration = effectiveConfiguration(stored, await fixedIfAny(gateway.config));
  const included = await includedRoutes(database, configuration);
  const defaults = defaultSettings(configuration, gateway.config);
  const client = clientConfigOf(row, defaults, { ...gateway, included });
  return { row, client };
}

/** Why a device with this file cannot reach the gateway, and how to fix it; null: it can. */
function noteOn({ isRunning }: GatewayOfFiles, client: ClientConfig): string | null {
  const { level, message, fix } = endpoint(client.endpoint);
  if (level === 'ok') return null;
  const whose = isRunning ? '' : ' No gateway runs here, so the settings of this shell decided.';
  return `${message}${whose} ${fix}`;
}

function noteOf(sentences: readonly (string | null)[]): Pick<Outcome, 'note'> {
  const said = sentences.filter((sentence) => sentence !== null);
  return said.length === 0 ? {} : { note: said.join('\n') };
}

function textOfKey(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** A code of a text; null where the text is too long for one. */
async function codeOf(text: string): Promise<QrCodeGenerateResult | null> {
  const { encode } = await import('uqr');
  try {
    return encode(text, { ecc: 'L', border: QUIET_MODULES });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * A QR code for a terminal: each character shows two modules, one above the other. Null where the
 * text is too long for a code.
 */
async function codeInWords(text: string): Promise<string | null> {
  const code = await codeOf(text);
  if (code === null) return null;
  const { data, size } = code;
  const isLight = (x: number, y: number): boolean => data[y]?.[x] !== true;
  const lines: string[] = [];
  for (let y = 0; y < size; y += 2) {
    const characters = Array.from({ length: size }, (_, x) => {
      const [upper, lower] = [isLight(x, y), isLight(x, y + 1)];
      return upper ? (lower ? '█' : '▀') : lower ? '▄' : ' ';
    });
    lines.push(`${CODE_COLOURS}${characters.join('')}${OWN_COLOURS}`);
  }
  return lines.join('\n');
}

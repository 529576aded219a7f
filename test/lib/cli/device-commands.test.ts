// The device commands of the command line: the file of a new device, the list, and the file again
// without its private key.

import test from 'ava';
import jsqr from 'jsqr';
import { openSettings } from '../../../config/index.ts';
import { derivePublicKey } from '../../../dataplane/index.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { textForPeople } from '../../../lib/start/print.ts';
import { PRIVATE_KEY_BLANK } from '../../../lib/domain/devices/client-config.ts';
import {
  type Database,
  newId,
  readAuditEntries,
  readClientFiles,
  readDevices,
  readOrCreateConfiguration,
  registerGateway,
  writeTransaction,
} from '../../../models/index.ts';
import { addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { configOf } from '../../support/api/server.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

// The package is CommonJS, but its types are written as if it were not.
const readImage = jsqr as unknown as typeof jsqr.default;

/** White on black, as the escape codes of terminals say it. */
const LIGHT_ON_DARK = '\u001B[97;40m';

/** Runs a line as a person types it. */
const runLine = (
  database: Database,
  line: string,
  settings: Record<string, string> = {},
): Promise<Outcome> => runTyped(database, line, { settings });

function publicKeyIn(file: string): string {
  const [, privateKey = ''] = /^PrivateKey = (.{44})$/m.exec(file) ?? [];
  const bytes = derivePublicKey(Buffer.from(privateKey, 'base64'));
  return Buffer.from(bytes).toString('base64');
}

for (const kind of databaseKinds()) {
  test(`${kind}: only the file of a new device holds its private key`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'Ann@b.example' });
    const settings = { EXTERNAL_URL: 'https://vpn.example.com/', WIREGUARD_PORT: '7' };
    const line = 'device create --email ann@B.example --name laptop --json';
    const { text, data } = await runLine(database, line, settings);
    const [device] = await readDevices(database);
    t.is(publicKeyIn(text), String(device?.public_key));
    t.regex(text, /^Endpoint = vpn\.example\.com:7$/m);
    t.true(text.includes(`PresharedKey = ${device?.preshared_key}`));
    t.true(text.includes(`Address = ${device?.ipv4}/32, ${device?.ipv6}/128`));
    t.like(data, {
      id: device?.id,
      email: 'Ann@b.example',
      name: 'laptop',
      file_name: 'laptop.conf',
    });
    t.is((data as { file: string }).file.trimEnd(), text);
    t.true((await readClientFiles(database, [String(device?.id)])).has(String(device?.id)));
    const entries = await readAuditEntries(database, { limit: 9 });
    t.true(entries.some(({ action, kind: of }) => action === 'create' && of === 'device'));
    const [, privateKey = ''] = /^PrivateKey = (.*)$/m.exec(text) ?? [];
    const rows = await database.sequelize.query('SELECT * FROM devices');
    t.false(JSON.stringify(rows).includes(privateKey));
  });

  test(`${kind}: a file holds the values of the running gateway, not of the environment of the command`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const gateway = {
      EXTERNAL_URL: 'https://vpn.example.com/',
      WIREGUARD_PORT: '7',
      WIREGUARD_IPV4_NETWORK: '10.9.0.0/24',
      WIREGUARD_IPV4_ADDRESS: '10.9.0.1',
      DEFAULT_CLIENT_DNS: '9.9.9.9',
    };
    const publicKey = Buffer.alloc(32, 9).toString('base64');
    await registerGateway(database, {
      id: 'g',
      name: 'g',
      startedAt: new Date(),
      settings: JSON.stringify(openSettings(configOf(gateway))),
      publicKey,
    });
    const line = 'device create --email ann@b.example --name laptop --json';
    const { text, note } = await runLine(database, line);
    t.regex(text, /^Endpoint = vpn\.example\.com:7$/m);
    t.regex(text, /^Address = 10\.9\.0\./m);
    t.regex(text, /^DNS = 9\.9\.9\.9$/m);
    t.true(text.includes(`PublicKey = ${publicKey}`));
    t.is(note, undefined);
    const [device] = await readDevices(database);
    const again = await runLine(database, `device config --id ${device?.id}`);
    t.regex(again.text, /^Endpoint = vpn\.example\.com:7$/m);
  });

  test(`${kind}: a file whose endpoint is inside its own tunnel comes with a warning`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const made = await runLine(database, 'device create --email ann@b.example --name laptop');
    t.regex(made.text, /^Endpoint = 127\.0\.0\.1:51820$/m);
    t.regex(String(made.note), /127\.0\.0\.1:51820.*settings of this shell.*EXTERNAL_URL/);
    const [device] = await readDevices(database);
    const again = await runLine(database, `device config --id ${device?.id}`);
    t.is(again.note, made.note);
  });

  test(`${kind}: values that the API refuses are refused, in words`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const line = 'device create --email ann@b.example --name laptop';
    await runLine(database, line);
    await t.throwsAsync(runLine(database, line), { message: 'name: has already been taken' });
    const limited = runLine(database, `${line}2`, { MAX_DEVICES_PER_USER: '1' });
    await t.throwsAsync(limited, { message: /^Maximum device limit reached/ });
    const nobody = runLine(database, 'device create --email x@b.example --name a');
    await t.throwsAsync(nobody, {
      message:
        /^there is no user x@b\.example; see: .* user list, or make one by: .* user create --email E$/,
    });
    t.is((await readDevices(database)).length, 1);
  });

  test(`${kind}: devices are listed without their secrets`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const email of ['ann@b.example', 'bob@b.example']) {
      await addUser(database, { email });
      await runLine(database, `device create --email ${email} --name a\tb\u001B[2J`);
    }
    const { text, data } = await runLine(database, 'device list');
    const [device] = await readDevices(database);
    const addresses = `${device?.ipv4},${device?.ipv6}`;
    const [labels = '', row = ''] = text.split('\n');
    t.regex(labels, /^ID +OWNER +NAME +ADDRESSES +STATE +LATEST HANDSHAKE$/);
    const cells = [device?.id, 'ann@b.example', 'a b [2J', addresses, 'on', 'never seen'];
    t.deepEqual(row.split(/ {2,}/), cells);
    t.is((data as unknown[]).length, 2);
    t.false(JSON.stringify(data).includes(String(device?.preshared_key)));
    const changes = {
      disabled_at: new Date(),
      expires_at: new Date('2099-01-01T00:00:00Z'),
      limit_down: 5_000_000,
    };
    const where = { id: String(device?.id) };
    await writeTransaction(database, (transaction) =>
      database.models.Device.update(changes, { where, transaction }),
    );
    const changed = await runLine(database, 'device list');
    t.regex(changed.text, / off +never seen$/m);
    t.like(changed.data, [
      {
        enabled: false,
        ends_at: '2099-01-01T00:00:00.000Z',
        limit_down: 5_000_000,
        limit_up: null,
      },
      { enabled: true, ends_at: null, limit_down: null, limit_up: null },
    ]);
    const own = await runLine(database, 'device list --email BOB@b.example');
    t.regex(own.text, /^ID[^\n]*\n\S+ +bob@b\.example [^\n]*$/);
    const nobody = runLine(database, 'device list --email x@b.example');
    await t.throwsAsync(nobody, {
      message:
        /^there is no user x@b\.example; see: .* user list, or make one by: .* user create --email E$/,
    });
  });

  test(`${kind}: networks behind a device are set, replaced, emptied, and refused in words`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const line = 'device create --email ann@b.example --name router --routes 10.77.0.0/16';
    const { data } = await runLine(database, line);
    t.like(data, { routes: ['10.77.0.0/16'] });
    const [device] = await readDevices(database);
    const route = async (routes: string): Promise<Outcome> =>
      runLine(database, `device route --id ${device?.id} --routes ${routes}`);
    const both = await route('10.77.0.0/16,2001:db8:77::/48');
    t.is(both.text, 'Behind router: 10.77.0.0/16, 2001:db8:77::/48.');
    await t.throwsAsync(route('0.0.0.0/0'), { message: /routes: 0\.0\.0\.0\/0 is everything/ });
    await t.throwsAsync(route('x'), { message: /routes: is invalid/ });
    await t.throwsAsync(route(','), { message: /routes is missing/ }, 'as an unset variable');
    t.deepEqual((await readDevices(database))[0]?.routes, ['10.77.0.0/16', '2001:db8:77::/48']);
    t.is((await route('none')).text, 'No network is behind router.');
    t.is((await readDevices(database))[0]?.routes, null);
    const absent = runLine(database, `device route --id ${newId()} --routes none`);
    await t.throwsAsync(absent, { message: /^there is no device .* device list$/ });
  });

  test(`${kind}: files name the networks behind other devices, if the configuration says so`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    await runLine(
      database,
      'device create --email ann@b.example --name router --routes 10.77.0.0/16',
    );
    const create = async (name: string): Promise<string> =>
      (await runLine(database, `device create --email ann@b.example --name ${name}`)).text;
    t.regex(await create('a'), /^AllowedIPs = 0\.0\.0\.0\/0, ::\/0$/m);
    const set = (value: string): Promise<unknown> =>
      writeTransaction(database, async (transaction) => {
        const row = await database.models.Configuration.findOne({ transaction });
        await row?.update({ default_client_include_routes: value === 'on' }, { transaction });
      });
    await set('on');
    t.regex(await create('b'), /^AllowedIPs = 0\.0\.0\.0\/0, ::\/0, 10\.77\.0\.0\/16$/m);
    const [router] = await readDevices(database);
    const { text } = await runLine(database, `device config --id ${router?.id}`);
    t.false(text.includes('10.77'), 'its own network is not behind the gateway');
  });

  test(`${kind}: the file is printed again without its private key`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const made = await runLine(database, 'device create --email ann@b.example --name laptop');
    const { id } = made.data as { id: string };
    const again = await runLine(database, `device config --id ${id.toUpperCase()}`);
    t.is(again.text, made.text.replace(/^PrivateKey = .*$/m, `PrivateKey = ${PRIVATE_KEY_BLANK}`));
    for (const bad of ['x', '00000000-0000-7000-8000-000000000000'])
      await t.throwsAsync(runLine(database, `device config --id ${bad}`), {
        message: `there is no device ${bad}; DEVICE is ann@example.com/laptop, a name, an address or an id; see: npm run -s postern -- device list`,
      });
  });
}

test('a code for the terminal is below the file, light on dark in every terminal', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await addUser(database, { email: 'ann@b.example' });
  const line = 'device create --email ann@b.example --name laptop --qr';
  const { data, ...shown } = await runLine(database, line);
  const [file = '', code = ''] = textForPeople(shown).trimEnd().split(`\n\n${LIGHT_ON_DARK}`);
  t.is(`${file}\n`, (data as { file: string }).file);
  t.is(readTerminal(code), `${file}\n`);
});

test('a file that is too long for a code is printed without one', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await addUser(database, { email: 'ann@b.example' });
  const networks = Array.from({ length: 250 }, (_, i) => `10.${i}.0.0/16`);
  await readOrCreateConfiguration(database);
  await writeTransaction(database, async (transaction) => {
    const row = await database.models.Configuration.findOne({ transaction });
    await row?.update({ default_client_allowed_ips: networks }, { transaction });
  });
  const line = 'device create --email ann@b.example --name laptop --qr';
  const { data, text, picture, note } = await runLine(database, line);
  t.is(picture, undefined);
  t.is(`${text}\n`, (data as { file: string }).file);
  t.regex(text, /^PrivateKey = .{43}=$/m);
  t.regex(note ?? '', /^The file is too long for a QR code\./m);
});

/** Reads a code as a camera sees the terminal: light blocks on black. */
function readTerminal(code: string): string | null {
  const pixels = 4;
  const lines = code.split('\n').map((line) => {
    const characters = line.replace(LIGHT_ON_DARK, '').replace('\u001B[0m', '');
    return characters.split('');
  });
  const width = (lines[0]?.length ?? 0) * pixels;
  const height = lines.length * 2 * pixels;
  const image = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const module = Math.floor(y / pixels);
      const character = lines[module >> 1]?.[Math.floor(x / pixels)] ?? ' ';
      const isLight = character === '█' || character === (module % 2 === 0 ? '▀' : '▄');
      image.fill(isLight ? 255 : 0, (y * width + x) * 4, (y * width + x) * 4 + 3);
      image[(y * width + x) * 4 + 3] = 255;
    }
  return readImage(image, width, height)?.data ?? null;
}

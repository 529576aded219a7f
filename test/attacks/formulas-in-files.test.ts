// People give their devices names, and rules and tokens texts, that a spreadsheet takes for formulas.
// An administrator opens each file that the console and the API offer: no cell begins as a formula
// does, no name ends a line or a header, and histories hold no text of people at all.

import test, { type ExecutionContext } from 'ava';
import { recordConnections, recordHistory } from '../../models/index.ts';
import { addDevice, addRule, addUser } from '../support/database/records.ts';
import { openConsole } from '../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const CALL = `cmd|' /C calc'!A0`;
/** Each beginning of a formula, and what would begin a cell or a line with one. */
const NAMES = [
  ...['=', '+', '-', '@', '\t', '\r', '\n', '|', '%', ' =', '\uFF1D'].map(
    (sign) => `${sign}${CALL},"x"\r\n=1`,
  ),
  `laptop,=${CALL}`,
  `laptop\r\n=${CALL}`,
  `laptop\n=${CALL}`,
  `laptop",=${CALL}`,
];
const FORMULA = /^\s*[=+\-@|%\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/;
/** What histories are made of: times, numbers, ids, addresses and words of our own. */
const PLAIN = /^[0-9a-z_.:TZ-]*$/;

/** The cells of a file (RFC 4180); throws where a quote is not closed. */
function cellsOf(file: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  for (const [whole, quoted, plain = '', end] of file.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g,
  )) {
    if (whole === '') break;
    line.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    lines.push(line);
    line = [];
  }
  return lines;
}

/** Every line has as many cells as the head, and none is a formula. */
function checkFile(t: ExecutionContext, name: string, file: string, atLeast: number): string[][] {
  const lines = cellsOf(file);
  const [head = []] = lines;
  t.true(lines.length > atLeast, `${name} has ${lines.length} lines`);
  for (const line of lines) {
    t.is(line.length, head.length, `${name}: ${JSON.stringify(line)}`);
    for (const cell of line) t.notRegex(cell, FORMULA, name);
  }
  return lines;
}

test('no file has a cell that is a formula', async (t) => {
  const { admin, database, user, plainUser, send } = await openConsole(t, 'sqlite');
  for (const name of NAMES) await addDevice(database, plainUser.id, { name, description: name });
  for (const [at, sign] of ['=', '+', '-', '|', '%'].entries())
    await addUser(database, { email: `${sign}${at}@example.com` });
  await addRule(database, { destination: '10.0.0.0/8', user_id: plainUser.id });
  // Whatever the forms of the portal let through is in the files too.
  await user.get('/user_devices/new');
  for (const name of NAMES) await user.post('/user_devices/new', { name, description: name });
  await admin.get('/api_tokens/new');
  for (const name of NAMES) await admin.post('/api_tokens/new', { name, days: '1', admin: 'true' });
  for (const [path, atLeast] of [
    ['/devices.csv', NAMES.length],
    ['/users.csv', 5],
    ['/rules.csv', 1],
    ['/api_tokens.csv', NAMES.length],
  ] as const) {
    const { status, text, headers } = await admin.get(path);
    t.is(status, 200, path);
    t.is(headers['content-disposition'], `attachment; filename="${path.slice(1)}"`);
    checkFile(t, path, text, atLeast);
  }
  const { data: devices } = (await send('GET', '/v0/devices')).body;
  t.true(devices.length >= NAMES.length);
});

test('histories have no text of people', async (t) => {
  const { database, plainUser, send } = await openConsole(t, 'sqlite');
  const { id: userId } = await addUser(database, { email: '=1+1@example.com' });
  const { id: rule } = await addRule(database, { destination: '10.0.0.0/8' });
  const start = Math.floor(Date.now() / 600_000) * 600;
  for (const [at, name] of NAMES.entries()) {
    const owner = at % 2 === 0 ? userId : plainUser.id;
    const { id: subject } = await addDevice(database, owner, { name, description: name });
    await recordHistory(database, GATEWAY, 'device', [{ subject, start, counts: [7, 9] }]);
    await recordConnections(database, [
      {
        id: `01900000-0000-7000-8000-0000000000${10 + at}`,
        deviceId: subject,
        gatewayId: GATEWAY,
        connectedAt: start * 1_000,
        disconnectedAt: null,
        remoteIp: '2001:db8::1',
        remotePort: 4_000,
        reason: null,
      },
    ]);
    for (const path of [
      `devices/${subject}/traffic`,
      `devices/${subject}/connections`,
      `users/${owner}/traffic`,
      `rules/${rule}/traffic`,
      'traffic',
    ]) {
      const { status, text, headers } = await send('GET', `/v0/${path}?format=csv`);
      t.is(status, 200, path);
      t.regex(String(headers['content-disposition']), /^attachment; filename="[a-z]+\.csv"$/);
      for (const cell of checkFile(t, path, text, 1).flat()) t.regex(cell, PLAIN, path);
    }
  }
});

// Where the password of the first administrator is shown: on a terminal, or in a file of its own.

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  credentialsFile,
  forgottenCredentials,
  showCredentials,
} from '../../../../lib/installation/setup/first-credentials.ts';
import { configOf, type LogLine, logInto } from '../../../support/api/server.ts';

const credentials = { email: 'admin@localhost', password: 'secret-word', token: 'pst_secret' };

function start(t: ExecutionContext, isTerminal: boolean, folder?: string, settings = {}) {
  const made = mkdtempSync(join(tmpdir(), 'postern-password-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  const config = configOf({ DATA_DIR: folder ?? made, ...settings });
  const log: LogLine[] = [];
  const printed: string[] = [];
  const listener = { isTerminal, print: (text: string) => void printed.push(text) };
  showCredentials(credentials, config, logInto(log), listener);
  return { config, log, printed: printed.join(''), folder: made };
}

test('on a terminal the credentials are printed, and stored nowhere', (t) => {
  const { printed, log, folder } = start(t, true);
  t.regex(printed, /e-mail +admin@localhost\n +password +secret-word\n +API token +pst_secret\n/);
  t.deepEqual(log, []);
  t.deepEqual(readdirSync(folder), []);
});

test('without a terminal they are in a file that only its owner reads, and the log names it', (t) => {
  const { printed, log, config } = start(t, false);
  const file = credentialsFile(config);
  t.is(printed, '');
  t.is(log.length, 1);
  t.like(log[0], { level: 'info', fields: { file } });
  t.notRegex(JSON.stringify(log), /secret-word|pst_/);
  t.is(statSync(file).mode & 0o777, 0o600);
  const text = readFileSync(file, 'utf8');
  t.regex(text, /password +secret-word\n +API token +pst_secret\n/);
  t.regex(text, /delete the file/);
  t.is(forgottenCredentials(config), file);
  rmSync(file);
  t.is(forgottenCredentials(config), null);
});

test('if the file cannot be written, the log says how to sign in, and holds no secret', (t) => {
  const { log, printed } = start(t, false, '/proc/nowhere');
  t.is(printed, '');
  t.is(log[0]?.level, 'error');
  t.regex(JSON.stringify(log), /admin create-or-reset --email admin@localhost/);
  t.notRegex(JSON.stringify(log), /secret-word|pst_/);
});

test('an older file of that name is replaced completely, whatever its mode', (t) => {
  const { config } = start(t, false);
  const file = credentialsFile(config);
  chmodSync(file, 0o644);
  showCredentials({ ...credentials, password: 'another' }, config, logInto([]), {
    isTerminal: false,
    print: () => undefined,
  });
  t.is(statSync(file).mode & 0o777, 0o600);
  t.regex(readFileSync(file, 'utf8'), /another/);
});

test('the console is named where it answers already, and where it will', (t) => {
  const external = { EXTERNAL_URL: 'https://vpn.example.com/' };
  const addressesIn = (settings: object): string[] => {
    const { printed } = start(t, true, undefined, settings);
    return [...printed.matchAll(/https?:\/\/\S+/g)].map(([address]) => address);
  };
  const local = 'http://127.0.0.1:13000/';
  const ofGateway = `${external.EXTERNAL_URL}v0/configuration`;
  t.deepEqual(addressesIn({}), [local, `${local}v0/configuration`]);
  t.deepEqual(addressesIn(external), [local, external.EXTERNAL_URL, `${local}v0/configuration`]);
  const behind = { ...external, TRUSTED_PROXIES: '127.0.0.1' };
  t.deepEqual(addressesIn(behind), [external.EXTERNAL_URL, ofGateway]);
  t.regex(start(t, true, undefined, external).printed, /ssh -L 13000:127\.0\.0\.1:13000 HOST\n/);
});

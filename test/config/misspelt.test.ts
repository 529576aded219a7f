// Misspelt names of settings are reported at the start; variables of other programs are not.

import test from 'ava';
import { parseConfig } from '../../config/index.ts';
import { meantSetting, unknownNames } from '../../config/misspelt.ts';

test('a misspelt name is reported with the setting that was probably meant', (t) => {
  const table: [name: string, meant: string][] = [
    ['HTTP_PORTT', 'HTTP_PORT'],
    ['WIREGARD_PORT', 'WIREGUARD_PORT'],
    ['WIREGAURD_PORT', 'WIREGUARD_PORT'],
    ['WIREGURAD_PROT', 'WIREGUARD_PORT'],
    ['DATADIR', 'DATA_DIR'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['POSTERN_TRUSTED_PROXIES', 'TRUSTED_PROXIES'],
    ['POSTERN_HTTP_PORTT', 'HTTP_PORT'],
    ['POSTERN_CONFG', 'POSTERN_CONFIG'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['EXTERNALURL', 'EXTERNAL_URL'],
    ['http_port', 'HTTP_PORT'],
    ['DEFAULT_CLIENT_ENDPOINTS', 'DEFAULT_CLIENT_ENDPOINT'],
    ['DATABASE_PASWORD_FILE', 'DATABASE_PASSWORD_FILE'],
  ];
  for (const [name, meant] of table) t.is(meantSetting(name), meant, name);
});

test('settings, and variables of other programs, are not reported', (t) => {
  for (const name of ['HTTP_PORT', 'PHOENIX_HTTP_PORT', 'DATABASE_PASSWORD_FILE', 'LOGO'])
    t.is(meantSetting(name), null, name);
  const others =
    'PATH HOME USER LOGNAME SHELL PWD OLDPWD LANG LC_ALL TERM HOSTNAME HTTP_PROXY HTTPS_PROXY no_proxy NODE_ENV NODE_OPTIONS TZ SHLVL EDITOR DISPLAY DATABASE INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_PID WATCHDOG_USEC STATE_DIRECTORY CACHE_DIRECTORY MAIL COLORTERM';
  t.deepEqual(unknownNames(others.split(' '), []), []);
  // A gateway without root gets them from the program that became it.
  t.deepEqual(unknownNames(['POSTERN_TCP_RELAY', 'POSTERN_UDP_SOCKETS'], []), []);
});

test('misspelt names of the environment are reported, and every unknown name of a file', (t) => {
  const file = JSON.stringify({ HTTP_PORT: 13001, ANYTHING: 1, WIREGARD_PORT: 51821 });
  const { config, warnings } = parseConfig(
    {
      POSTERN_CONFIG: '/postern.json',
      POSTERN_WARM_UP: 'off',
      DATAPLANE_X25519: 'tweetnacl',
      HTTP_PORTT: '80',
      POSTERN_THING: 'x',
    },
    () => file,
  );
  t.is(config?.httpPort, 13_001);
  t.deepEqual(warnings, [
    'DATAPLANE_X25519 is a setting of earlier versions and is ignored; remove it',
    'HTTP_PORTT is not a setting of Postern and is ignored; is HTTP_PORT meant?',
    'POSTERN_THING is not a setting of Postern and is ignored',
    'ANYTHING is not a setting of Postern and is ignored',
    'WIREGARD_PORT is not a setting of Postern and is ignored; is WIREGUARD_PORT meant?',
  ]);
});

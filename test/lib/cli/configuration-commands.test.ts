// The commands of the configuration: they show what is in force, and change it as the API does.

import test from 'ava';
import type { Outcome } from '../../../lib/cli/run.ts';
import { type Database, readAuditEntries, readConfiguration } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

/** Runs a line as a person types it. */
const runLine = (
  database: Database,
  line: string,
  settings: Record<string, string> = {},
): Promise<Outcome> => runTyped(database, line, { settings });

for (const kind of databaseKinds()) {
  test(`${kind}: the configuration in force is shown, with the fields that the environment fixes`, async (t) => {
    const database = await openDatabase(t, kind);
    const { text, data } = await runLine(database, 'configuration show', {
      EXTERNAL_URL: 'https://vpn.example.com/',
      DEFAULT_CLIENT_MTU: '1300',
    });
    t.regex(text, /^default_client_endpoint +vpn\.example\.com:51820/m);
    t.regex(text, /^default_client_mtu +1300 +fixed by DEFAULT_CLIENT_MTU$/m);
    t.like(data, { default_client_mtu: 1300, default_action: 'accept' });
    t.false('openid_connect_providers' in (data as object));
  });

  test(`${kind}: fields are changed by the rules of the API, and the audit trail keeps it`, async (t) => {
    const database = await openDatabase(t, kind);
    const set = (what: string): Promise<Outcome> => runLine(database, `configuration set ${what}`);
    t.is((await set('default_action=drop')).text, 'default_action is drop now.');
    await set('default_client_dns=10.0.0.53,1.1.1.1');
    await set('VPN_SESSION_DURATION=28800');
    await set('default_client_endpoint=vpn.example.com');
    t.like(await readConfiguration(database), {
      default_action: 'drop',
      default_client_dns: ['10.0.0.53', '1.1.1.1'],
      vpn_session_duration: 28_800,
      default_client_endpoint: 'vpn.example.com',
    });
    const back = await set('default_client_endpoint=');
    t.is(back.text, 'default_client_endpoint is 127.0.0.1:51820 now.');
    t.is((await readConfiguration(database))?.default_client_endpoint, null);
    const entries = await readAuditEntries(database, { limit: 9 });
    t.is(entries.filter(({ action }) => action === 'update').length, 5);
  });

  test(`${kind}: a field that cannot be set is refused, with the fields that can`, async (t) => {
    const database = await openDatabase(t, kind);
    const errors: [what: string, message: RegExp][] = [
      [
        'default_action=deny',
        /^default_action: should be one of accept, drop; for example default_action=accept$/,
      ],
      ['default_client_mtu=9', /^default_client_mtu: must be greater than or equal to/],
      ['default_action', /write NAME=VALUE, with one of .*default_action/],
      ['colour=red', /"colour=red" names nothing to set/],
      ['logo={}', /set in the console, or by the API$/],
    ];
    for (const [what, message] of errors)
      await t.throwsAsync(runLine(database, `configuration set ${what}`), { message });
    const fixed = runLine(database, 'configuration set default_action=drop', {
      DEFAULT_ACTION: 'accept',
    });
    await t.throwsAsync(fixed, { message: /overridden by DEFAULT_ACTION environment variable/ });
  });
}

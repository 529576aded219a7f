// What the pages of the settings share: tabs, what is fixed, and changes that nobody loses.

import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { Writes } from '../../../../lib/kit/records/writes.ts';
import { makeRooms } from '../../../../lib/rooms.ts';
import { changesSettings, fixedSentence, settingTabs } from '../../../../lib/web/parts/settings.ts';
import { someCaller } from '../../../support/api/caller.ts';
import { openServer } from '../../../support/api/server.ts';

test('the tab of a page within is the current one', (t) => {
  const current = (path: string) =>
    (settingTabs({ path }) as { href: string; isCurrent: boolean }[])
      .filter(({ isCurrent }) => isCurrent)
      .map(({ href }) => href);
  t.deepEqual(current('/settings/security'), ['/settings/security']);
  t.deepEqual(current('/settings/providers/oidc/new'), ['/settings/providers']);
  t.deepEqual(current('/settings/providersX'), []);
});

test('what is fixed names its variable', (t) => {
  const web = { fixed: { logo: {} } };
  t.is(fixedSentence(web, 'local_auth_enabled'), null);
  t.is(fixedSentence(web, 'logo'), 'Fixed by the environment variable LOGO; change it there.');
  t.is(fixedSentence(web, 'toString'), null);
});

test('a change that was made of an older row is refused under the lock', async (t) => {
  const { services, database } = await openServer(t, 'sqlite');
  const rooms = makeRooms({
    services,
    recall: new Recall(database),
    writes: new Writes(database),
    fixed: {},
  });
  const base = [{ code: 'providersChanged' }] as const;
  const input = { vpn_session_duration: 5 };
  const caller = someCaller();
  const refused = changesSettings(caller, input, () => ({ base: [...base] }))(rooms);
  const error = await t.throwsAsync(refused, { instanceOf: ApiError });
  t.deepEqual(error.errors, { base });
  const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
  t.is(row.vpn_session_duration, 0);
  t.is((await changesSettings(caller, input)(rooms))['vpn_session_duration'], 5);
  t.is((await row.reload()).vpn_session_duration, 5);
});

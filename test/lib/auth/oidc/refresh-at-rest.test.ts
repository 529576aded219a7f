// Where no OpenID provider is and no account waits for its turn, the refresher asks for nothing.

import test from 'ava';
import { Refresher } from '../../../../lib/auth/oidc/refresh.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { keepTokens } from '../../../../models/index.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { logInto } from '../../../support/api/server.ts';

for (const kind of databaseKinds())
  test(`${kind}: where no provider is, no statement is sent until something changes`, async (t) => {
    const database = await openDatabase(t, kind);
    let revision = 1;
    const refresher = new Refresher({
      database,
      log: logInto([]),
      counters: new Counters(),
      hearGroups: async () => undefined,
      settings: async () => ({ openid_connect_providers: [], disable_vpn_on_oidc_error: true }),
      revision: () => revision,
    });
    let sent = 0;
    const { sequelize } = database;
    const query = sequelize.query.bind(sequelize);
    sequelize.query = ((...given: Parameters<typeof query>) => {
      sent += 1;
      return query(...given);
    }) as typeof query;
    const statementsOfLook = async (): Promise<number> => {
      const before = sent;
      await refresher.look();
      return sent - before;
    };
    t.true((await statementsOfLook()) > 0);
    t.is(await statementsOfLook(), 0);
    const { id } = await addIdentity(database, await addUser(database));
    const now = new Date();
    const refreshAt = new Date(now.getTime() + 60_000);
    const tokens = { tokens: { refreshToken: 'r' }, refreshAt, now };
    await write(database, (transaction) => keepTokens(database, id, tokens, transaction));
    revision += 1;
    t.true((await statementsOfLook()) > 0);
    t.true((await statementsOfLook()) > 0, 'an account waits for its turn');
  });

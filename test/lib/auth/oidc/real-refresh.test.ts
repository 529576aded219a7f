// Refreshes at a real provider: it rotates tokens, says groups, and refuses a revoked account.

import test from 'ava';
import { provisionUser } from '../../../../lib/auth/identity/provision.ts';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import { REFRESH_EVERY_MS, Refresher } from '../../../../lib/auth/oidc/refresh.ts';
import { beginOidc, finishOidc, redirectUriOf } from '../../../../lib/auth/oidc/sign-in.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { GATEWAY, type GroupsChange } from '../../../../models/index.ts';
import { logInto } from '../../../support/api/server.ts';
import { openRealProvider, Person, proofOf } from '../../../support/auth/openid-provider.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import { openDatabase } from '../../../support/database/databases.ts';

const TURN_MS = REFRESH_EVERY_MS * 1.2;

test('a real provider rotates tokens, and refuses once the account is revoked', async (t) => {
  const redirectUri = redirectUriOf(oidcEntry(), 'http://127.0.0.1:13000/');
  const claims = { email: ['email', 'email_verified'], profile: ['groups'] };
  const real = await openRealProvider(t, { redirectUris: [redirectUri] }, { claims });
  const alice = { email: 'alice@example.com', email_verified: true };
  real.people.set('alice', alice);
  const database = await openDatabase(t, 'sqlite');
  const naming = { groups_claim: 'groups', groups_create: true };
  const provider = oidcEntry({ discovery_document_uri: real.discoveryUri, ...naming });
  const clients = new OidcClients();
  const beginner = { browserSha256: 'b'.repeat(64), userId: null };
  const oidc = { database, clients, provider, redirectUri };
  const back = await new Person('alice').visit(
    await beginOidc(oidc, beginner),
    'http://127.0.0.1:13000/',
  );
  const finishing = finishOidc(oidc, new URL(back).searchParams, beginner.browserSha256);
  const proof = await proofOf(finishing);
  const now = new Date();
  await provisionUser(
    database,
    proof.account,
    { autoCreateUsers: true, authority: '' },
    { origin: GATEWAY, now, tokens: { kept: proof.tokens, refreshAt: now } },
  );
  let nowMs = now.getTime();
  const heard: GroupsChange[] = [];
  const refresher = new Refresher({
    database,
    clients,
    hearGroups: async (change) => void heard.push(change),
    log: logInto([]),
    counters: new Counters(),
    settings: async () => ({
      openid_connect_providers: [provider],
      disable_vpn_on_oidc_error: true,
    }),
    now: () => new Date(nowMs),
    revision: () => 1,
  });
  const { IdentityTokens: table, User: users } = database.models;
  const seen = new Set([proof.tokens.refreshToken]);
  for (let i = 0; i < 3; i += 1) {
    real.people.set('alice', { ...alice, groups: i === 2 ? undefined : [`team ${i}`] });
    await refresher.look();
    const memberships = await database.models.GroupMembership.findAll();
    const groups = await database.models.Group.findAll({
      where: { id: memberships.map(({ group_id }) => group_id) },
    });
    const teams = groups.map(({ name }) => name);
    t.deepEqual(teams, i === 2 ? [] : [`team ${i}`]);
    seen.add((await table.findOne({ rejectOnEmpty: true })).tokens.refreshToken);
    nowMs += TURN_MS;
  }
  t.is(seen.size, 4, 'three rotations');
  t.deepEqual(
    heard.map(({ before, after }) => [before.length, after.length]),
    [
      [0, 1],
      [1, 1],
      [1, 0],
    ],
  );
  const latest = (await table.findOne({ rejectOnEmpty: true })).tokens.refreshToken ?? '';
  const grantId = (await real.provider.RefreshToken.find(latest))?.grantId ?? '';
  await real.provider.RefreshToken.revokeByGrantId(grantId);
  await refresher.look();
  t.is((await users.findOne({ rejectOnEmpty: true })).disabled_by, 'provider');
});

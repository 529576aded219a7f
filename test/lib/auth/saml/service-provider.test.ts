// This gateway as SAML providers see it: one key for all gateways, files that replace the key, and
// metadata that follow the flags.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import {
  addressesOf,
  ourMetadata,
  serviceProvider,
} from '../../../../lib/auth/saml/service-provider.ts';
import { parseXml } from '../../../../lib/auth/saml/xml.ts';
import { migrate } from '../../../../models/index.ts';
import { idpKey, otherIdpKey } from '../../../support/auth/bad-saml-provider.ts';
import { firstKind, makePlace, openAt, openDatabase } from '../../../support/database/databases.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { configOf } from '../../../support/api/server.ts';

/** The fields that these tests read. */
const LIMITS = { characters: 100_000, tags: 1_000, attributes: 1_000 };

for (const kind of firstKind())
  test(`${kind}: several gateways that start together share one key, which is kept encrypted`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = [await openAt(t, place), await openAt(t, place)];
    for (const database of databases) await migrate(database);
    const made = await Promise.all(
      databases.map((database) => serviceProvider(configOf(), database)),
    );
    t.deepEqual(made[0], made[1]);
    t.deepEqual(await serviceProvider(configOf(), databases[0]!), made[0]);
    const [rows] = await databases[0]!.sequelize.query('SELECT * FROM secrets');
    t.notRegex(JSON.stringify(rows), /BEGIN/);
  });

function files(t: ExecutionContext, key: string, certificate: string): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'key'), key);
  writeFileSync(join(folder, 'certificate'), certificate);
  return {
    SAML_KEYFILE_PATH: join(folder, 'key'),
    SAML_CERTFILE_PATH: join(folder, 'certificate'),
  };
}

test('files replace the key, whatever text surrounds it', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const given = files(t, idpKey.privateKey, `Subject: x\n${idpKey.certificate}`);
  const { key, entityId } = await serviceProvider(
    configOf({ ...given, SAML_ENTITY_ID: 'urn:mine' }),
    database,
  );
  t.deepEqual(key, idpKey);
  t.is(entityId, 'urn:mine');
});

test('unusable files are refused with a clear reason', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const rows: [given: Record<string, string>, why: RegExp][] = [
    [files(t, otherIdpKey.privateKey, idpKey.certificate), /do not belong together/],
    [files(t, 'nonsense', idpKey.certificate), /cannot be used/],
    [
      { ...files(t, idpKey.privateKey, idpKey.certificate), SAML_KEYFILE_PATH: '/nowhere' },
      /ENOENT/,
    ],
  ];
  for (const [given, message] of rows) {
    const work = serviceProvider(configOf(given), database);
    const error = await t.throwsAsync(work, { instanceOf: ProviderRefusal, message });
    t.is(error?.reason, 'provider_misconfigured');
  }
});

test('one file without the other is refused at the start', (t) => {
  t.throws(() => configOf({ SAML_KEYFILE_PATH: '/x' }), { message: /come together/ });
});

test('base_url replaces the beginning of every address, with or without its last slash', (t) => {
  for (const end of ['', '/'])
    t.deepEqual(addressesOf(samlEntry({ id: 'a', base_url: `https://vpn.example/saml${end}` })), {
      consume: 'https://vpn.example/saml/sp/consume/a',
      metadata: 'https://vpn.example/saml/sp/metadata/a',
      logout: 'https://vpn.example/saml/sp/logout/a',
    });
});

const flagged: [flags: Partial<ReturnType<typeof samlEntry>>, has: RegExp[], lacks: RegExp[]][] = [
  [
    {},
    [/AuthnRequestsSigned="true"/, /WantAssertionsSigned="true"/, /<SignatureValue>/, /"signing"/],
    [/encryption/],
  ],
  [{ sign_metadata: false }, [/AuthnRequestsSigned="true"/], [/<SignatureValue>/]],
  [
    { sign_requests: false },
    [/AuthnRequestsSigned="false"/, /<SignatureValue>/],
    [/KeyDescriptor/],
  ],
  [{ signed_assertion_in_resp: false }, [/AuthnRequestsSigned/], [/WantAssertionsSigned/]],
];
for (const [flags, has, lacks] of flagged)
  test(`our metadata with ${JSON.stringify(flags)} say what the flags say`, async (t) => {
    const ours = { entityId: 'urn:mine', key: idpKey };
    const xml = await ourMetadata(samlEntry(flags), ours);
    t.is(parseXml(xml, LIMITS).getAttribute('entityID'), 'urn:mine');
    t.true(xml.includes('http://127.0.0.1:13000/auth/saml/sp/consume/saml-idp'));
    t.true(xml.includes('http://127.0.0.1:13000/auth/saml/sp/logout/saml-idp'));
    t.notRegex(xml, /PRIVATE/);
    for (const one of has) t.regex(xml, one);
    for (const one of lacks) t.notRegex(xml, one);
  });

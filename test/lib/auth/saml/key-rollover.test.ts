// Sign-ins while a provider changes its key: the new metadata are fetched when an answer is signed
// by an unknown key, the former key serves until the new one was seen in use, and strangers who
// post bad signatures cause one fetch.

import test, { type ExecutionContext } from 'ava';
import { addressesOf, serviceProvider } from '../../../../lib/auth/saml/service-provider.ts';
import { beginSaml, consumeSaml, type SamlContext } from '../../../../lib/auth/saml/sign-in.ts';
import { refreshOnDemand } from '../../../../lib/auth/saml/refresh.ts';
import {
  answerXml,
  base64,
  BOTH,
  goodWords,
  idpKey,
  idpMetadata,
  otherIdpKey,
  requestIn,
} from '../../../support/auth/bad-saml-provider.ts';
import {
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress } from '../../../support/auth/metadata-address.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { configOf } from '../../../support/api/server.ts';

const documentOf = (key: typeof idpKey) => idpMetadata(signOnService(), { key });

async function open(t: ExecutionContext, kind: TestDatabaseKind) {
  const database = await openDatabase(t, kind);
  const address = await openMetadataAddress(t, documentOf(idpKey));
  const provider = samlEntry({ metadata: documentOf(idpKey), metadata_url: address.url });
  const ours = await serviceProvider(configOf(), database);
  const limits = { timeoutMs: 20_000, bytesMax: 100_000 };
  const context: SamlContext = { database, provider, ours, limits };
  /** A whole sign-in; "" where it went well, else why not. */
  const signIn = async (key: typeof idpKey): Promise<string> => {
    const beginner = { browserSha256: 'b'.repeat(64), userId: null, returnTo: null };
    const { id, query } = requestIn((await beginSaml(context, beginner)).address);
    const xml = answerXml(goodWords(id, addressesOf(provider).consume), { ...BOTH, key });
    const posted = { samlResponse: base64(xml), relayState: query.get('RelayState') ?? '' };
    return consumeSaml(context, posted).then(
      () => '',
      (error: Error) => error.message,
    );
  };
  return { context, provider, address, signIn };
}

for (const kind of firstKind()) {
  test(`${kind}: a key that changed without notice is fetched with the first answer`, async (t) => {
    const { address, signIn } = await open(t, kind);
    t.is(await signIn(idpKey), '');
    t.is(address.count(), 0, 'a known key is no reason to fetch');
    address.serve(documentOf(otherIdpKey));
    t.is(await signIn(otherIdpKey), '');
    t.is(address.count(), 1);
    t.is(await signIn(idpKey), 'answer_invalid: signature', 'the new one was seen in use');
  });

  test(`${kind}: the former key serves until the new one was seen in use`, async (t) => {
    const { address, signIn, context, provider } = await open(t, kind);
    address.serve(documentOf(otherIdpKey));
    await refreshOnDemand(context, provider);
    t.is(await signIn(idpKey), '');
    t.is(await signIn(idpKey), '', 'its own answers do not end it');
    t.is(await signIn(otherIdpKey), '');
    t.is(await signIn(idpKey), 'answer_invalid: signature');
    t.is(await signIn(otherIdpKey), '');
  });

  test(`${kind}: bad signatures cause one fetch`, async (t) => {
    const { address, signIn } = await open(t, kind);
    for (let i = 0; i < 5; i += 1) t.is(await signIn(otherIdpKey), 'answer_invalid: signature');
    t.is(address.count(), 1);
    t.is(await signIn(idpKey), '');
  });
}

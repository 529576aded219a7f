// Debian's LemonLDAP::NG as a provider of OpenID Connect and of SAML, served by Starman on a port and
// a folder of the test. Its people are those of its demonstration: `dwho` is dwho@badwolf.org, and
// everybody's password is their name.

import { createPublicKey, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { makeCertificate } from '../../../lib/auth/saml/certificate.ts';
import { CLIENT } from './bad-openid-provider.ts';
import { freePort } from '../network/free-port.ts';
import type { Lasting } from '../suite/lasting.ts';
import { makeFolder, startProvider } from './provider-process.ts';

const PORTAL = '/usr/share/lemonldap-ng/portal';

/** The person that tests sign in. */
export const DWHO = { login: 'dwho', email: 'dwho@badwolf.org' };

/** A provider that runs. */
export interface Lemonldap {
  readonly origin: string;
  readonly discoveryUri: string;
  /** Its SAML metadata, as an administrator would paste them. */
  readonly metadata: string;
  /** Sees to it that it knows exactly this of us: where it knows something else, it starts anew. */
  readonly know: (known: Known) => Promise<void>;
  /** Signs somebody in on the provider's page. */
  readonly signIn: (page: Page, login?: string, password?: string) => Promise<void>;
}

/** Options of a service there, without the prefix of their names. */
type Options = Readonly<Record<string, unknown>>;

/** What an administrator of the provider enters of us. */
export interface Known {
  /** Us as a SAML service: our metadata. */
  readonly saml: { readonly ours: string; readonly options?: Options };
  /** Us as OpenID clients, by the id that each sends. */
  readonly oidc: Readonly<Record<string, OidcClient>>;
  /** Groups of its people, by their terms. */
  readonly groups: Readonly<Record<string, string>>;
}

/** An OpenID client. */
export interface OidcClient {
  readonly redirectUri: string;
  readonly postLogoutUri: string;
  readonly options?: Options;
  /** Whether the groups of a person are among its claims, with the scope `profile`. */
  readonly seesGroups?: boolean;
}

/** Starts one, which knows nobody; it ends with `t`. */
export async function openLemonldap(t: Lasting): Promise<Lemonldap> {
  const folders = [
    'conf',
    'sessions',
    'sessions/lock',
    'psessions',
    'psessions/lock',
    'cache',
    'log',
  ];
  const folder = makeFolder(t, 'postern-llng-', ...folders);
  const port = await freePort();
  // Another site than ours to a browser: another host.
  const origin = `http://localhost:${port}`;
  const base = await baseConfiguration(folder, origin);
  writeFileSync(join(folder, 'lemonldap-ng.ini'), iniOf(folder));
  writeFileSync(join(folder, 'portal.psgi'), psgi);
  let inForce = JSON.stringify(base);
  let run = await serve(t, folder, port, inForce);
  return {
    origin,
    discoveryUri: `${origin}/.well-known/openid-configuration`,
    metadata: await (await fetch(`${origin}/saml/metadata`)).text(),
    know: async ({ saml, oidc, groups }) => {
      const wanted = JSON.stringify({
        ...base,
        groups,
        ...samlServiceOf(saml),
        ...clientsOf(oidc),
      });
      if (wanted === inForce) return;
      await run.stop();
      run = await serve(t, folder, port, wanted);
      inForce = wanted;
    },
    signIn: async (page, login = DWHO.login, password = login) => {
      await page
        .locator('input[name=user]')
        .fill(login)
        .catch(async (cause: unknown) => {
          const text = await page.locator('body').innerText();
          throw new Error(`no form to sign in at ${page.url()}, which says: ${text}`, { cause });
        });
      await page.locator('input[name=password]').fill(password);
      const answered = page.waitForEvent('domcontentloaded');
      await page.locator('button[type=submit]').first().click();
      await answered;
    },
  };
}

async function serve(t: Lasting, folder: string, port: number, configuration: string) {
  writeFileSync(join(folder, 'conf/lmConf-1.json'), configuration);
  return startProvider(t, {
    command: 'starman',
    // Loaded before it listens: a worker that still loads would keep the first request waiting.
    args: [
      '--preload-app',
      '--workers=6',
      // A connection that is kept open holds a worker, and the next request may meet its end.
      '--disable-keepalive',
      `--listen=127.0.0.1:${port}`,
      join(folder, 'portal.psgi'),
    ],
    environment: { LLNG_DEFAULTCONFFILE: join(folder, 'lemonldap-ng.ini') },
    readyUrl: `http://127.0.0.1:${port}/`,
    logFile: join(folder, 'log/starman.log'),
  });
}

/** The portal, its scripts, and a captcha that draws nothing: the real one needs more packages. */
const psgi = `BEGIN {
  package Lemonldap::NG::Portal::Captcha::None;
  use Mouse;
  extends 'Lemonldap::NG::Portal::Main::Plugin';
  $INC{'Lemonldap/NG/Portal/Captcha/None.pm'} = 1;
}
use Plack::Builder;
use Lemonldap::NG::Portal::Main;
my $portal = Lemonldap::NG::Portal::Main->run({});
builder {
  enable 'Plack::Middleware::Static', path => sub { s!^/static/!! }, root => '${PORTAL}/htdocs/static/';
  $portal;
};
`;

function iniOf(folder: string): string {
  return `[all]
logLevel = warn
logger = Lemonldap::NG::Common::Logger::Std
userLogger = Lemonldap::NG::Common::Logger::Std
[configuration]
type = File
dirName = ${folder}/conf
localStorage = Cache::FileCache
localStorageOptions = { 'namespace' => 'configuration', 'cache_root' => '${folder}/cache', 'cache_depth' => 3 }
[portal]
staticPrefix = /static
templateDir = ${PORTAL}/templates
languages = en
[handler]
`;
}

/** What Debian installs, on our folder and port, with both kinds of providers switched on. */
async function baseConfiguration(folder: string, origin: string): Promise<object> {
  const { privateKey, certificate } = await makeCertificate(
    new Date(),
    randomBytes(8).fill(1, 0, 1),
  );
  const storage = (name: string) => ({
    Directory: join(folder, name),
    LockDirectory: join(folder, name, 'lock'),
    generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
  });
  return {
    cfgNum: 1,
    cfgDate: '1',
    cfgVersion: '2.16.1',
    portal: `${origin}/`,
    domain: 'localhost',
    cookieName: 'lemonldap',
    securedCookie: 0,
    sameSite: 'Lax',
    authentication: 'Demo',
    userDB: 'Same',
    passwordDB: 'Null',
    registerDB: 'Null',
    demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' },
    exportedVars: {},
    macros: { _whatToTrace: 'lc($_user)' },
    whatToTrace: '_whatToTrace',
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: storage('sessions'),
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: storage('psessions'),
    localSessionStorage: 'Cache::FileCache',
    localSessionStorageOptions: {
      namespace: 'lemonldap-ng-sessions',
      cache_root: join(folder, 'cache'),
      cache_depth: 3,
      default_expires_in: 600,
    },
    locationRules: { localhost: { default: 'accept' } },
    portalSkin: 'bootstrap',
    captcha: '::Captcha::None',
    key: randomBytes(16).toString('hex'),
    issuerDBOpenIDConnectActivation: 1,
    oidcServicePrivateKeySig: privateKey,
    oidcServicePublicKeySig: createPublicKey(privateKey)
      .export({ type: 'spki', format: 'pem' })
      .toString(),
    oidcServiceKeyIdSig: 'lemonldap',
    oidcServiceAllowAuthorizationCodeFlow: 1,
    issuerDBSAMLActivation: 1,
    samlServicePrivateKeySig: privateKey,
    samlServicePublicKeySig: certificate,
    samlServiceSignatureMethod: 'RSA_SHA256',
    samlServiceUseCertificateInResponse: 1,
  };
}

/** Claims, and where each is in a session there. */
const EXPORTED = { email: 'mail', name: 'cn' };

/** Where the claim of groups comes from. */
const GROUPS = 'groups;string;always';

function clientsOf(clients: Known['oidc']): object {
  const all = Object.entries(clients);
  const each = (valueOf: (client: OidcClient, id: string) => object): object =>
    Object.fromEntries(all.map(([id, client]) => [id, valueOf(client, id)]));
  return {
    oidcRPMetaDataOptions: each((client, id) =>
      prefixed('oidcRPMetaDataOptions', {
        ClientID: id,
        ClientSecret: CLIENT.secret,
        RedirectUris: client.redirectUri,
        PostLogoutRedirectUris: client.postLogoutUri,
        BypassConsent: 1,
        IDTokenSignAlg: 'RS256',
        RefreshToken: 1,
        ...client.options,
      }),
    ),
    oidcRPMetaDataExportedVars: each(({ seesGroups }) =>
      seesGroups === true ? { ...EXPORTED, groups: GROUPS } : EXPORTED,
    ),
    oidcRPMetaDataOptionsExtraClaims: each(({ seesGroups }) =>
      seesGroups === true ? { profile: 'groups' } : {},
    ),
  };
}

function samlServiceOf({ ours, options }: Known['saml']): object {
  const given = {
    NameIDFormat: 'email',
    SignatureMethod: 'RSA_SHA256',
    SignSSOMessage: 1,
    CheckSSOMessageSignature: 1,
    SignSLOMessage: 1,
    CheckSLOMessageSignature: 1,
    ...options,
  };
  return {
    samlSPMetaDataXML: { postern: { samlSPMetaDataXML: ours } },
    samlSPMetaDataOptions: { postern: prefixed('samlSPMetaDataOptions', given) },
    samlSPMetaDataExportedAttributes: { postern: { mail: '1;mail;;' } },
  };
}

function prefixed(prefix: string, options: Options): object {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [`${prefix}${name}`, value]),
  );
}

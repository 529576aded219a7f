// Debian's LemonLDAP::NG as a provider of OpenID Connect and of SAML, served by Starman on a port and
// a folder of the test. Its people are those of its demonstration: `dwho` is dwho@badwolf.org, and
// everybody's password is their name.

import { createPublicKey, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { makeCertificate } from '../../../lib/auth/saml/certificate.ts';
import { CLIENT } from './bad-openid-provider.ts';
import { freePort } from '../network/free-port.ts';
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
  /** Starts it anew with us made known as a SAML service; `ours` are our metadata. */
  readonly knowSaml: (ours: string, options?: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Starts it anew with us made known as an OpenID client, and with these groups by their terms. */
  readonly knowOidc: (
    addresses: OidcAddresses,
    options?: Readonly<Record<string, unknown>>,
    groups?: Readonly<Record<string, string>>,
  ) => Promise<void>;
  /** Signs somebody in on the provider's page. */
  readonly signIn: (page: Page, login?: string, password?: string) => Promise<void>;
}

/** Our addresses. */
export interface OidcAddresses {
  readonly redirectUri: string;
  readonly postLogoutUri: string;
}

/** Starts one; it ends with the test. */
export async function openLemonldap(t: ExecutionContext): Promise<Lemonldap> {
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
  let run = await serve(t, folder, port, base);
  const change = async (changes: object): Promise<void> => {
    await run.stop();
    run = await serve(t, folder, port, { ...base, ...changes });
  };
  return {
    origin,
    discoveryUri: `${origin}/.well-known/openid-configuration`,
    metadata: await (await fetch(`${origin}/saml/metadata`)).text(),
    knowSaml: (ours, options = {}) => change(samlServiceOf(ours, options)),
    knowOidc: (addresses, options = {}, groups = {}) =>
      change({ ...oidcClientOf(addresses, options), ...groupsOf(groups) }),
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

async function serve(t: ExecutionContext, folder: string, port: number, configuration: object) {
  writeFileSync(join(folder, 'conf/lmConf-1.json'), JSON.stringify(configuration));
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

function oidcClientOf(
  addresses: OidcAddresses,
  options: Readonly<Record<string, unknown>>,
): object {
  const given = {
    ClientID: CLIENT.id,
    ClientSecret: CLIENT.secret,
    RedirectUris: addresses.redirectUri,
    PostLogoutRedirectUris: addresses.postLogoutUri,
    BypassConsent: 1,
    IDTokenSignAlg: 'RS256',
    RefreshToken: 1,
    ...options,
  };
  const named = Object.entries(given).map(([name, value]) => [
    `oidcRPMetaDataOptions${name}`,
    value,
  ]);
  return {
    oidcRPMetaDataOptions: { postern: Object.fromEntries(named) },
    oidcRPMetaDataExportedVars: { postern: EXPORTED },
  };
}

/** Groups by their terms, exported with the scope `profile`. */
function groupsOf(groups: Readonly<Record<string, string>>): object {
  if (Object.keys(groups).length === 0) return {};
  return {
    groups,
    oidcRPMetaDataExportedVars: { postern: { ...EXPORTED, groups: 'groups;string;always' } },
    oidcRPMetaDataOptionsExtraClaims: { postern: { profile: 'groups' } },
  };
}

function samlServiceOf(ours: string, options: Readonly<Record<string, unknown>>): object {
  const given = {
    NameIDFormat: 'email',
    SignatureMethod: 'RSA_SHA256',
    SignSSOMessage: 1,
    CheckSSOMessageSignature: 1,
    SignSLOMessage: 1,
    CheckSLOMessageSignature: 1,
    ...options,
  };
  const named = Object.entries(given).map(([name, value]) => [
    `samlSPMetaDataOptions${name}`,
    value,
  ]);
  return {
    samlSPMetaDataXML: { postern: { samlSPMetaDataXML: ours } },
    samlSPMetaDataOptions: { postern: Object.fromEntries(named) },
    samlSPMetaDataExportedAttributes: { postern: { mail: '1;mail;;' } },
  };
}

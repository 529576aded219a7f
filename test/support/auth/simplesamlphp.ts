// Debian's SimpleSAMLphp as a SAML provider, served by PHP's own server on a port and a folder of the
// test. Its defaults are kept: names are transient, response and assertion are signed, and requests to
// sign out are not.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { makeCertificate } from '../../../lib/auth/saml/certificate.ts';
import { freePort } from '../network/free-port.ts';
import type { Lasting } from '../suite/lasting.ts';
import { makeFolder, startProvider } from './provider-process.ts';

const WWW = '/usr/share/simplesamlphp/www';
const PASSWORD = 'a password there';

/** A provider that runs. */
export interface Simplesamlphp {
  readonly origin: string;
  /** Sets it up anew, with another key; it knows us as before. Returns its metadata, to be pasted. */
  readonly setUp: (setup: SimplesamlphpSetup) => Promise<string>;
  /** Where it publishes them. */
  readonly metadataUrl: string;
  /** Gives it another key: it signs with that from now on, and publishes nothing of the former. */
  readonly changeKey: () => Promise<void>;
  /** Gives people other attributes, from their next sign-in there on. */
  readonly changePeople: (people: SimplesamlphpSetup['people']) => void;
  /** Makes us known; `ours` are our metadata, `options` members of the entry in PHP. */
  readonly know: (ours: string, options?: Readonly<Record<string, string>>) => void;
  /** Signs somebody in on the provider's page; the password is wrong where that is wanted. */
  readonly signIn: (page: Page, login: string, password?: string) => Promise<void>;
  /** Signing out there begins here; the provider leads to `returnTo` at its end. */
  readonly signOutUrl: (returnTo: string) => string;
}

/** What the provider is set up with; members of its own entry, in PHP. */
export interface SimplesamlphpSetup {
  /** People by login, with their attributes. */
  readonly people: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
  readonly hosted?: Readonly<Record<string, string>>;
}

/** Starts one, which nobody can sign in to before it is set up; it ends with `t`. */
export async function openSimplesamlphp(t: Lasting): Promise<Simplesamlphp> {
  const folder = makeFolder(
    t,
    'postern-ssp-',
    'metadata',
    'cert',
    'sessions',
    'temp',
    'data',
    'log',
  );
  // Another site than ours to a browser: another host.
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const changeKey = async (): Promise<void> => {
    const { privateKey, certificate } = await makeCertificate(new Date(), serialNumber());
    writeFileSync(join(folder, 'cert/idp.pem'), privateKey);
    writeFileSync(join(folder, 'cert/idp.crt'), certificate);
  };
  const changePeople: Simplesamlphp['changePeople'] = (people) =>
    writeFileSync(join(folder, 'authsources.php'), sourcesPhp(people));
  const setUp: Simplesamlphp['setUp'] = async ({ people, hosted = {} }) => {
    await changeKey();
    changePeople(people);
    writeFileSync(join(folder, 'metadata/saml20-idp-hosted.php'), hostedPhp(hosted));
    const response = await fetch(metadataUrl);
    if (!response.ok) throw new Error(await response.text());
    return response.text();
  };
  writeFileSync(join(folder, 'config.php'), configPhp(folder, origin));
  writeFileSync(join(folder, 'metadata/saml20-sp-remote.php'), '<?php\n');
  const metadataUrl = `${origin}/saml2/idp/metadata.php`;
  await startProvider(t, {
    command: 'php',
    args: [...opcache(folder), '-S', `localhost:${port}`, '-t', WWW],
    environment: { SIMPLESAMLPHP_CONFIG_DIR: folder, PHP_CLI_SERVER_WORKERS: '4' },
    readyUrl: `${origin}/robots.txt`,
    logFile: join(folder, 'log/php.log'),
  });
  return {
    origin,
    setUp,
    metadataUrl,
    changeKey,
    changePeople,
    know: (ours, options = {}) => {
      writeFileSync(join(folder, 'ours.xml'), ours);
      writeFileSync(join(folder, 'metadata/saml20-sp-remote.php'), remotePhp(folder, options));
    },
    signIn: async (page, login, password = PASSWORD) => {
      await page.locator('#username').fill(login);
      await page.locator('#password').fill(password);
      await page.locator('#submit_button, button[type=submit]').first().click();
    },
    signOutUrl: (returnTo) =>
      `${origin}/saml2/idp/SingleLogoutService.php?${new URLSearchParams({ ReturnTo: returnTo }).toString()}`,
  };
}

/**
 * Compiled code is kept, but of no file of the last two seconds: what an administrator changes serves at
 * once. Nothing is kept in /tmp.
 */
function opcache(folder: string): string[] {
  const settings = {
    enable: 1,
    revalidate_freq: 0,
    file_update_protection: 2,
    lockfile_path: folder,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-d', `opcache.${name}=${value}`]);
}

function configPhp(folder: string, origin: string): string {
  return `<?php $config = [
    'baseurlpath' => '${origin}/',
    'certdir' => '${folder}/cert/', 'loggingdir' => '${folder}/log/', 'datadir' => '${folder}/data/',
    'tempdir' => '${folder}/temp', 'metadatadir' => '${folder}/metadata/',
    'attributenamemapdir' => '/etc/simplesamlphp/attributemap/',
    'secretsalt' => '${randomBytes(16).toString('hex')}',
    'auth.adminpassword' => '${randomBytes(16).toString('hex')}',
    'technicalcontact_email' => 'na@example.org', 'timezone' => 'UTC',
    'trusted.url.domains' => null, 'enable.http_post' => true,
    'showerrors' => true, 'logging.level' => SimpleSAML\\Logger::DEBUG, 'logging.handler' => 'file',
    'enable.saml20-idp' => true,
    'module.enable' => ['exampleauth' => true, 'core' => true, 'saml' => true],
    'session.cookie.secure' => false, 'session.cookie.samesite' => 'Lax',
    'session.phpsession.savepath' => '${folder}/sessions', 'session.phpsession.httponly' => true,
    'store.type' => 'phpsession', 'metadata.sources' => [['type' => 'flatfile']],
    'language.available' => ['en'], 'language.default' => 'en',
    'language.cookie.secure' => false, 'language.cookie.samesite' => null,
    'theme.use' => 'default', 'production' => true,
];
`;
}

function sourcesPhp(people: SimplesamlphpSetup['people']): string {
  const lines = Object.entries(people).map(([login, attributes]) => {
    const pairs = Object.entries({ uid: login, ...attributes });
    const inner = pairs.map(
      ([name, value]) => `${quoted(name)} => [${[value].flat().map(quoted).join(', ')}]`,
    );
    return `${quoted(`${login}:${PASSWORD}`)} => [${inner.join(', ')}],`;
  });
  return `<?php $config = ['people' => ['exampleauth:UserPass', ${lines.join(' ')}]];\n`;
}

function hostedPhp(options: Readonly<Record<string, string>>): string {
  return `<?php $metadata['__DYNAMIC:1__'] = ['host' => '__DEFAULT__',
    'privatekey' => 'idp.pem', 'certificate' => 'idp.crt', 'auth' => 'people', ${members(options)}];\n`;
}

/** Our metadata, read by the provider's own converter as its documentation asks. */
function remotePhp(folder: string, options: Readonly<Record<string, string>>): string {
  return `<?php
    $entity = \\SimpleSAML\\Metadata\\SAMLParser::parseString(file_get_contents('${folder}/ours.xml'));
    $ours = $entity->getMetadata20SP();
    unset($ours['entityDescriptor'], $ours['expire']);
    $metadata[$ours['entityid']] = array_merge($ours, [${members(options)}]);\n`;
}

function members(options: Readonly<Record<string, string>>): string {
  return Object.entries(options)
    .map(([name, value]) => `${quoted(name)} => ${value},`)
    .join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function serialNumber(): Uint8Array {
  return randomBytes(8).fill(1, 0, 1);
}

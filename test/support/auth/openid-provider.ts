// A certified OpenID provider (oidc-provider) on a port of this machine, and a person who signs in
// there: pages are fetched, forms are filled in, cookies kept, as a browser does.

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { type Configuration, Provider } from 'oidc-provider';
import type { finishOidc, OidcProof } from '../../../lib/auth/oidc/sign-in.ts';
import { CLIENT } from './bad-openid-provider.ts';

/** A provider that runs. */
export interface RealProvider {
  origin: string;
  discoveryUri: string;
  provider: Provider;
  /** What the provider says of a person, by login. */
  people: Map<string, Record<string, unknown>>;
  /** Takes the provider away. */
  close: () => void;
}

/** What a sign-in proved that is no test. */
export async function proofOf(finishing: ReturnType<typeof finishOidc>): Promise<OidcProof> {
  const finished = await finishing;
  if (finished.kind !== 'proven') throw new Error('it was a test');
  return finished;
}

/** Starts one for a client with these addresses; it ends with the test. */
export async function openRealProvider(
  t: ExecutionContext,
  addresses: { redirectUris: string[]; postLogoutUris?: string[] },
  configuration: Partial<Configuration> = {},
): Promise<RealProvider> {
  let listener: RequestListener = () => undefined;
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  t.teardown(close);
  // Another site than the gateway's to a browser: another host.
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const people: RealProvider['people'] = new Map();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(origin, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: addresses.redirectUris,
        post_logout_redirect_uris: addresses.postLogoutUris ?? [],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'real', use: 'sig' } as never] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    // Google and others give one for access_type=offline, which this one does not know.
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: { Interaction: 600, Session: 600, Grant: 600, RefreshToken: 600, IdToken: 300 },
    findAccount: async (_context, login) => ({
      accountId: login,
      claims: async () => ({ sub: login, ...people.get(login) }),
    }),
    ...configuration,
  });
  listener = provider.callback() as RequestListener;
  return {
    origin,
    discoveryUri: `${origin}/.well-known/openid-configuration`,
    provider,
    people,
    close,
  };
}

/** A browser at providers. */
export class Person {
  readonly #login: string;
  readonly #cookies = new Map<string, string>();
  /** Called with each form; answers with further fields. */
  readonly fill: (form: string) => Record<string, string>;

  constructor(login: string) {
    this.#login = login;
    this.fill = () => ({ login: this.#login, password: 'anything' });
  }

  /**
   * Goes to an address and on, through redirects and forms, until it is sent to an address that
   * begins with `home`; returns that one.
   */
  async visit(address: string, home: string): Promise<string> {
    let step: { url: string; body?: URLSearchParams } = { url: address };
    for (let steps = 0; steps < 20; steps += 1) {
      const response = await this.#fetch(step.url, step.body);
      const location = response.headers.get('location');
      if (location !== null) {
        const url = new URL(location, step.url).href;
        if (url.startsWith(home)) return url;
        step = { url };
        continue;
      }
      const page = await response.text();
      const form = formIn(page, step.url);
      if (form === null) throw new Error(`${response.status} ${step.url}: ${page.slice(0, 500)}`);
      step = {
        url: form.action,
        body: new URLSearchParams({ ...form.fields, ...this.fill(page) }),
      };
    }
    throw new Error('the way does not end');
  }

  async #fetch(url: string, body?: URLSearchParams): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie, accept: 'text/html' },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}

/** The first form of a page, with its hidden fields. */
export function formIn(
  page: string,
  url: string,
): { action: string; fields: Record<string, string> } | null {
  const [, action] = /<form[^>]*action="([^"]*)"/i.exec(page) ?? [];
  if (action === undefined) return null;
  const fields: Record<string, string> = {};
  for (const [input] of page.matchAll(/<input[^>]*type="hidden"[^>]*>/gi)) {
    const [, name = ''] = /name="([^"]*)"/.exec(input) ?? [];
    const [, value = ''] = /value="([^"]*)"/.exec(input) ?? [];
    fields[name] = value
      .replaceAll('&#x2F;', '/')
      .replaceAll('&#43;', '+')
      .replaceAll('&amp;', '&');
  }
  return { action: new URL(action.replaceAll('&amp;', '&'), url).href, fields };
}

// The path of EXTERNAL_URL, which is before our own paths where a proxy does not take it off. It is
// taken off here unless it begins as one of our own: then nobody could tell the two apart.

import type { Config } from './config.ts';

/** The first words of all paths that are served; a test compares them with the routes. */
export const OWN_WORDS: ReadonlySet<string> = new Set(
  [
    'api_tokens api_tokens.csv assets audit audit.csv audit.json auth dashboard devices devices.csv',
    'docs explain favicon.ico flows forgotten_password gateways healthz local logo metrics mfa',
    'one_time_links readyz refusals rules rules.csv search settings sign_in_again sign_out undo',
    'undo_disabled user_account user_devices user_refusals users users.csv v0',
  ].flatMap((line) => line.split(' ')),
);

/** The path of EXTERNAL_URL, without its last slash; "" where it has none. */
export function outsidePathOf({ externalUrl }: Pick<Config, 'externalUrl'>): string {
  return new URL(externalUrl).pathname.replace(/\/$/, '');
}

/** The path that the gateway takes off requests; "" where there is none, or only the proxy can. */
export function prefixOf(config: Pick<Config, 'externalUrl'>): string {
  const path = outsidePathOf(config);
  return beginsAsOwn(path) ? '' : path;
}

/** The setting of the proxy where the gateway cannot take the path off; null where it can. */
export function prefixAdvice(config: Pick<Config, 'externalUrl' | 'httpPort'>): string | null {
  const path = outsidePathOf(config);
  if (!beginsAsOwn(path)) return null;
  const target = `http://127.0.0.1:${config.httpPort}`;
  return `EXTERNAL_URL is ${config.externalUrl}: ${path} begins as paths of the gateway do, so only the proxy can take it off (nginx: “location ${path}/ { proxy_pass ${target}/; }” with the slash at the end; Caddy: “handle_path ${path}/*”; Traefik: StripPrefix; Apache: “ProxyPass ${path}/ ${target}/”); or choose a path that begins otherwise`;
}

function beginsAsOwn(path: string): boolean {
  return OWN_WORDS.has(path.split('/')[1] ?? '');
}

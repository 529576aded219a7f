// What keeps this gateway from doing what people expect, and how to put it right: on the dashboard,
// and beside each file that it spoils. It says what readiness, doctor and log say.

import { isInTheClear, isLoopback } from '../../config/index.ts';
import type { Recall } from '../api/recall.ts';
import { type UnnamedProxies, unnamedProxyWords } from '../api/unnamed-proxies.ts';
import { defaultSettings } from '../devices/settings.ts';
import type { Services } from '../services.ts';

/** One such thing, in words for administrators. */
export interface GatewayProblem {
  readonly text: string;
  readonly fix: string;
}

type Known = Pick<Services, 'config' | 'readiness'>;

/** Why the gateway cannot obey a record as it stands; null where it can. */
export function problemOf({ observed }: Pick<Services, 'observed'>, id: string): string | null {
  return observed?.problems().find((problem) => problem.id === id)?.message ?? null;
}

/** All of them; `endpoint` is where files of devices lead by default. */
export function gatewayProblems(known: Known, endpoint: string | null): GatewayProblem[] {
  const { config } = known;
  const problems = fileProblems(known, endpoint);
  if (isInTheClear(config))
    problems.push({
      text: `API and console are served at ${config.httpHost}:${config.httpPort} without TLS: whoever is between reads passwords and tokens.`,
      fix: 'Set HTTP_TLS_CERT and HTTP_TLS_KEY. Or put a proxy with HTTPS in front: then set HTTP_HOST=127.0.0.1 or TRUSTED_PROXIES, and an EXTERNAL_URL with https.',
    });
  return problems;
}

/** All of them, with the endpoint as the settings are at present. */
export async function dashboardProblems({
  services,
  recall,
}: {
  services: Known & { readonly unnamed?: UnnamedProxies };
  recall: Recall;
}): Promise<GatewayProblem[]> {
  await recall.refresh();
  const { endpoint } = defaultSettings(await recall.configuration(), services.config);
  const peer = services.unnamed?.recent() ?? null;
  const unnamed = peer === null ? [] : [unnamedProxyWords(peer)];
  return [...gatewayProblems(services, endpoint), ...unnamed];
}

/** Those because of which a file does not do what its owner expects. */
export function fileProblems(
  { config, readiness }: Known,
  endpoint: string | null,
): GatewayProblem[] {
  const problems: GatewayProblem[] = [];
  const { tun, masquerade } = readiness();
  if (endpoint !== null && isLoopback(hostOf(endpoint)))
    problems.push({
      text: `The endpoint of devices is ${endpoint}. That is the device itself, so no device finds the gateway.`,
      fix: 'Set EXTERNAL_URL to the address under which devices reach this host; or set the endpoint under Settings, Client defaults.',
    });
  if (config.wireguardTun !== 'off' && tun === null)
    problems.push({
      text: 'The gateway has no TUN interface: devices connect, but reach nothing behind the gateway.',
      fix: 'Run “postern doctor” on the gateway’s host; it names what is missing: /dev/net/tun, or the right CAP_NET_ADMIN.',
    });
  else if (tun !== null && !masquerade && wantsMasquerade(config))
    problems.push({
      text: 'The gateway does not masquerade (NAT): most networks send no answers to the devices.',
      fix: 'Install nftables (apt-get install nftables), run with CAP_NET_ADMIN and restart; “postern doctor” says more.',
    });
  return problems;
}

function wantsMasquerade(config: Services['config']): boolean {
  return (
    (config.wireguardIpv4Enabled && config.wireguardIpv4Masquerade) ||
    (config.wireguardIpv6Enabled && config.wireguardIpv6Masquerade)
  );
}

/** The host of an endpoint, which may name a port. */
function hostOf(endpoint: string): string {
  return endpoint.replace(/^\[([^\]]*)\].*$/, '$1').replace(/^([^:]*):\d+$/, '$1');
}

// Who may read the metrics where nothing is said: with a proxy in front, everybody comes from here.

import type { Config } from './config.ts';

/** The default of METRICS_ACCESS. */
export function defaultMetricsAccess({
  externalUrl,
  httpPort,
}: Pick<Config, 'externalUrl' | 'httpPort'>): 'loopback' | 'token' {
  // Elsewhere than here: so there is a proxy.
  return leadsHere(externalUrl, httpPort) ? 'loopback' : 'token';
}

/** Whether the public address is that of this listener itself. */
function leadsHere(externalUrl: string | null, httpPort: number): boolean {
  if (externalUrl === null || !httpPort) return true;
  const { port: named, protocol } = new URL(externalUrl);
  return Number(named || (protocol === 'https:' ? 443 : 80)) === httpPort;
}

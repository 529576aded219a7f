// The doctor on the host: the data plane inspects the host, and this file says with which settings.

import type { Config } from '../../../config/index.ts';
import type { inspectHost } from '../../../dataplane/index.ts';
import { whyNoSockets } from '../setup/egress.ts';
import { networksOf } from '../../reconcile/tunnel-networks.ts';

/** What a host is inspected for. */
export type Inspected = Parameters<typeof inspectHost>[0];

/** A gateway under these settings and on this database, as the host would have it. */
export function hostOf(
  config: Config,
  isOfEarlier: boolean,
): Omit<Inspected, 'isRunning' | 'runningTun' | 'runsBySockets'> {
  return {
    interfaceName: config.wireguardInterface,
    listenPort: config.wireguardPort,
    ...networksOf(config),
    masqueradeIpv4: config.wireguardIpv4Masquerade,
    masqueradeIpv6: config.wireguardIpv6Masquerade,
    egressInterface: config.gatewayEgressInterface,
    forwarding: config.gatewayForwarding,
    tun: config.wireguardTun,
    socketsBarred: whyNoSockets(config, isOfEarlier),
  };
}

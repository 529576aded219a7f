// Forwarding and masquerading, by which packets of devices leave the host: switched on at the
// start, undone at the end. What cannot be switched on is a warning, not a failure.

import type { NetworkConfig } from './contract.ts';
import type { GatewayOptions } from './descriptors.ts';
import { loadMasquerade, removeMasquerade } from './io/masquerade.ts';
import { enableForwarding } from './io/system.ts';

/** The egress of one gateway. */
export class Egress {
  readonly #options: GatewayOptions;
  #isMasqueraded = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** Whether what leaves is masqueraded. */
  get isMasqueraded(): boolean {
    return this.#isMasqueraded;
  }

  async open(): Promise<void> {
    const { ipv4, ipv6, forwarding, interfaceName, egressInterface, log } = this.#options;
    if (forwarding === 'auto') {
      const faults = enableForwarding({ ipv4: ipv4 !== null, ipv6: ipv6 !== null });
      for (const fault of faults) log('warn', fault);
    }
    const networks = this.#masqueradedNetworks();
    if (networks.length === 0) return;
    const loaded = await loadMasquerade({ interfaceName, networks, egressInterface });
    this.#isMasqueraded = loaded.isMasqueraded;
    if (loaded.fault !== null) log('warn', loaded.fault);
  }

  async close(): Promise<void> {
    if (this.#isMasqueraded) await removeMasquerade(this.#options.interfaceName);
  }

  #masqueradedNetworks(): NetworkConfig[] {
    const { ipv4, ipv6, masqueradeIpv4, masqueradeIpv6 } = this.#options;
    return [masqueradeIpv4 ? ipv4 : null, masqueradeIpv6 ? ipv6 : null].filter(
      (network) => network !== null,
    );
  }
}

// The egress of a gateway that has none to open: nothing is asked of the host, nothing is warned of.

import test from 'ava';
import { Egress } from '../../dataplane/egress.ts';
import type { GatewayOptions } from '../../dataplane/descriptors.ts';

test('without forwarding and masquerading nothing is opened, and nothing has to be closed', async (t) => {
  const said: string[] = [];
  const egress = new Egress({
    forwarding: 'off',
    masqueradeIpv4: false,
    masqueradeIpv6: false,
    ipv4: null,
    ipv6: null,
    interfaceName: 'wg-nothing',
    egressInterface: null,
    log: (_level: string, message: string) => said.push(message),
  } as unknown as GatewayOptions);
  await egress.open();
  t.false(egress.isMasqueraded);
  await egress.close();
  t.deepEqual(said, []);
});

// Which other gateway has a device of a question: this gateway sees nothing of what the device
// sends, and cannot reach it. The gateway of this process and the rows say it together.

import type { Ask, EgressWay, Explanation } from '../../../dataplane/index.ts';
import type { Database, Device } from '../../../models/index.ts';
import { type Elsewhere, elsewhereOf, readLastSeen } from '../whereabouts.ts';

/** How packets leave a gateway; `pasta`: by a TUN that leads to pasta, which has no root. */
export type Leaving = EgressWay | 'pasta';

/** The gateway of this process, as explanations ask it. */
export interface ExplainingGateway {
  /** The id of the gateway. */
  readonly id: string;
  readonly ask: Ask;
  /** How packets leave it; left out: by a TUN. */
  readonly way?: Leaving;
  /** The id of the device with a public key; null: it serves none. */
  readonly deviceIdOf: (publicKey: string) => string | null;
}

interface Asked {
  readonly database: Database;
  readonly gateway: ExplainingGateway;
}

/** The other gateway to which the sender of a packet is connected; null: there is none. */
export async function senderElsewhere(
  from: Asked,
  { device, isSent }: { device: Pick<Device, 'id' | 'public_key'>; isSent: boolean },
): Promise<Elsewhere | null> {
  return isSent ? whereIs(from, device.id, device.public_key) : null;
}

/** The other gateway to which the receiver of a packet is connected; null: there is none. */
export async function receiverElsewhere(
  from: Asked,
  { reason, to }: Pick<Explanation, 'reason' | 'to'>,
): Promise<Elsewhere | null> {
  if (reason !== 'peer_elsewhere' || to === null) return null;
  const id = from.gateway.deviceIdOf(to);
  return id === null ? null : whereIs(from, id, to);
}

async function whereIs(
  { database, gateway }: Asked,
  id: Device['id'],
  publicKey: string,
): Promise<Elsewhere | null> {
  const nowMs = Date.now();
  const [trace, seen] = await Promise.all([
    gateway.ask('diagnose', publicKey),
    readLastSeen(database, id, nowMs),
  ]);
  return trace === null ? null : elsewhereOf({ nowMs, gatewayId: gateway.id, trace, seen });
}

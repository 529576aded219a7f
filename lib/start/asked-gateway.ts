// The gateway of this process, as requests ask it: what becomes of packets, why devices cannot
// connect, what is alive and what was refused, captures. Every answer has a limited time: a page
// must not wait for a worker that hangs.

import { readRootless } from '../../config/index.ts';
import type { Ask, Gateway } from '../../dataplane/index.ts';
import { inTime } from '../kit/http/in-time.ts';
import type { Presence } from '../observe/presence.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Services } from '../services.ts';

/** How long an answer may take. Lists take longest: they are read in parts, one after the other. */
const ANSWER_MS = 5_000;

/** What requests ask. */
type Asked = Required<Pick<Services, 'capturing' | 'diagnosing' | 'explaining' | 'live'>>;

/** Who knows which device has a key. */
interface Known {
  readonly reconciler: Pick<
    Reconciler,
    'servedDeviceOf' | 'lastDeviceIdOf' | 'lastOwnerIdOf' | 'lastPublicKeyOf' | 'tried'
  >;
  readonly presence: Pick<Presence, 'connectedForMs'>;
}

/**
 * Makes what requests ask of a gateway; `id` is its id in the database. `hasPasta`: its TUN leads
 * to pasta.
 */
export function askedGateway(
  id: string,
  gateway: Pick<Gateway, 'ask' | 'capture' | 'facts'>,
  { reconciler, presence }: Known,
  hasPasta = readRootless().relaysTcp,
): Asked {
  const ask: Ask = (name, ...asked) => inTime(gateway.ask(name, ...asked), ANSWER_MS);
  return {
    capturing: { id, capture: (order) => gateway.capture(order) },
    explaining: {
      id,
      ask,
      way: hasPasta && gateway.facts.way === 'tun' ? 'pasta' : gateway.facts.way,
      deviceIdOf: (publicKey) => reconciler.servedDeviceOf(publicKey)?.id ?? null,
    },
    diagnosing: { id, ask, connectedForMs: (publicKey) => presence.connectedForMs(publicKey) },
    live: {
      id,
      ask,
      tried: (rows, used) => reconciler.tried(rows, used),
      userIdOf: (publicKey) => reconciler.servedDeviceOf(publicKey)?.userId ?? null,
      ownerIdOf: (publicKey) => reconciler.lastOwnerIdOf(publicKey),
      deviceIdOf: (publicKey) => reconciler.lastDeviceIdOf(publicKey),
      publicKeyOf: (deviceId) => reconciler.lastPublicKeyOf(deviceId),
    },
  };
}

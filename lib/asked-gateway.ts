// The gateway of this process, as requests ask it: what becomes of packets, why devices cannot
// connect, what is alive and what was refused, captures. Answers have a limited time: a page must
// not wait for a worker that hangs.

import type { Gateway } from '../dataplane/index.ts';
import { inTime } from './http/in-time.ts';
import type { Presence } from './observe/presence.ts';
import type { Reconciler } from './reconcile/reconciler.ts';
import type { Services } from './services.ts';

/** How long an answer about one packet or device may take. */
const ANSWER_MS = 2_000;
/** How long lists may take: they are read in parts, one list after the other. */
const LIST_MS = 5_000;

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

/** Makes what requests ask of a gateway; `id` is its id in the database. */
export function askedGateway(
  id: string,
  gateway: Pick<
    Gateway,
    | 'capture'
    | 'diagnose'
    | 'effectOf'
    | 'endedFlows'
    | 'explain'
    | 'flows'
    | 'refusals'
    | 'unknownSenders'
  >,
  { reconciler, presence }: Known,
): Asked {
  return {
    capturing: { id, capture: (order) => gateway.capture(order) },
    explaining: {
      id,
      explain: (question) => inTime(gateway.explain(question), ANSWER_MS),
      trace: (publicKey) => inTime(gateway.diagnose(publicKey), ANSWER_MS),
      deviceIdOf: (publicKey) => reconciler.servedDeviceOf(publicKey)?.id ?? null,
    },
    diagnosing: {
      id,
      diagnose: (publicKey) => inTime(gateway.diagnose(publicKey), ANSWER_MS),
      unknownSenders: () => inTime(gateway.unknownSenders(), ANSWER_MS),
      connectedForMs: (publicKey) => presence.connectedForMs(publicKey),
    },
    live: {
      id,
      flows: (...asked) => inTime(gateway.flows(...asked), LIST_MS),
      endedFlows: (...asked) => inTime(gateway.endedFlows(...asked), LIST_MS),
      refusals: (...asked) => inTime(gateway.refusals(...asked), LIST_MS),
      tried: (rows, used) => reconciler.tried(rows, used),
      effectOf: (...asked) => inTime(gateway.effectOf(...asked), LIST_MS),
      userIdOf: (publicKey) => reconciler.servedDeviceOf(publicKey)?.userId ?? null,
      ownerIdOf: (publicKey) => reconciler.lastOwnerIdOf(publicKey),
      deviceIdOf: (publicKey) => reconciler.lastDeviceIdOf(publicKey),
      publicKeyOf: (deviceId) => reconciler.lastPublicKeyOf(deviceId),
    },
  };
}

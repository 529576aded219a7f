// The parts that follow the database while the gateway runs: the reconciler, and the parts that get
// its news.

import { Presence, type PresenceOptions } from '../observe/presence.ts';
import type { Watched } from '../observe/gateway-state.ts';
import type { History } from '../reconcile/history.ts';
import { Reconciler, type ReconcilerOptions } from '../reconcile/reconciler.ts';

/** The reconciler, and the parts that get its news. */
export interface Followers {
  readonly reconciler: Reconciler;
  readonly presence: Presence;
  /** Left out where none is kept. */
  readonly history?: History;
}

type Followed = Omit<ReconcilerOptions, 'onAmended' | 'onArrivals' | 'wallMs'>;

/** Makes them; `history` is left out where none is kept. */
export function followersOf(options: Followed, history: Pick<Followers, 'history'>): Followers {
  const reconciler = new Reconciler({
    ...options,
    onAmended: ({ peers }) => presence.remove(goneFrom(peers)),
    onArrivals: (heardElsewhere) => presence.letGo(heardElsewhere),
    wallMs: () => Date.now(),
  });
  const deviceOf: Watched['deviceOf'] = (key) => reconciler.servedDeviceOf(key);
  const whyGone: PresenceOptions['whyGone'] = (key) => reconciler.whyGone(key);
  const presence = new Presence({ deviceOf, whyGone, log: options.log, ...history });
  return { reconciler, presence, ...history };
}

/** The keys of the peers that an amendment removes. */
function goneFrom(peers: ReadonlyMap<string, unknown>): string[] {
  return [...peers].filter(([, peer]) => peer === null).map(([publicKey]) => publicKey);
}

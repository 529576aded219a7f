// The tables that verdicts are read from, with two peers and without an engine: 10.0.0.2 and fd00::2
// in slot 0, 10.0.0.3 and fd00::3 in slot 1, which takes packets of 1,280 bytes.

import { EndedFlows } from '../../../dataplane/filter/ended-flows.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { FlowTable } from '../../../dataplane/filter/flow-table.ts';
import { Tracker } from '../../../dataplane/filter/tracker.ts';
import { InwardJudge } from '../../../dataplane/path/inward.ts';
import { Limits } from '../../../dataplane/path/limits.ts';
import { Mtus } from '../../../dataplane/path/mtu.ts';
import { OverQuota } from '../../../dataplane/path/over-quota.ts';
import { OutwardJudge } from '../../../dataplane/path/outward.ts';
import { Verdict } from '../../../dataplane/path/verdict.ts';
import { Sanity } from '../../../dataplane/sanity.ts';
import { AllowedIps } from '../../../dataplane/wireguard/allowed-ips.ts';
import { Peer } from '../../../dataplane/wireguard/peer.ts';
import { withoutNulls } from './without-nulls.ts';
import { address, counting } from '../dataplane/packets.ts';
import { peer, placed, seededRandom } from '../dataplane/simulation.ts';

const MTU = 1_420;

function network(text: string, prefixBits: number, own: string) {
  return { network: address(text), prefixBits, address: address(own) };
}

/** Tables, and judges that read them. */
export class Tables {
  readonly peers: readonly Peer[];
  readonly filter = new Filter('accept');
  readonly tracker: Tracker;
  readonly inward: InwardJudge;
  readonly outward: OutwardJudge;
  readonly limits = new Limits();
  readonly sanity: Sanity;

  constructor(hasTun = true, hasSockets = false) {
    const random = seededRandom(1);
    const allowedIps = new AllowedIps<Peer>();
    this.peers = [0, 1].map((slot) => {
      const key = Buffer.from(counting(32, slot)).toString('base64');
      const config = peer({ key, ipv4: `10.0.0.${2 + slot}`, ipv6: `fd00::${2 + slot}` });
      const made = new Peer(placed(config, slot), new Uint8Array(32), slot, 0);
      allowedIps.insert(config.ipv4!, 32, made);
      allowedIps.insert(config.ipv6!, 128, made);
      return made;
    });
    const [ipv4, ipv6] = [network('10.0.0.0', 24, '10.0.0.1'), network('fd00::', 64, 'fd00::1')];
    const options = { ipv4, ipv6, mtu: MTU, listenPort: 51_820, allowsMetadata: false };
    const sanity = (this.sanity = new Sanity(options, allowedIps));
    const mtus = new Mtus(options);
    const sizes = { capacity: 64, peers: 16 };
    const flows = new FlowTable({ random, ...sizes });
    this.tracker = new Tracker(this.filter, random, flows, new EndedFlows(sizes));
    this.tracker.begin(1_000, 1_000);
    for (const { slot } of this.peers) this.tracker.addPeer(slot, `${slot}`);
    mtus.set(0, null);
    mtus.set(1, 1_280);
    const filter = this.tracker.judge;
    const asked = { sanity, filter, mtus, limits: this.limits, overQuota: new OverQuota() };
    this.inward = new InwardJudge({ ...asked, hasTun, hasSockets });
    this.outward = new OutwardJudge({ ...asked, allowedIps });
  }

  /** What changes when a packet passes: flows in memory, hits of rules. */
  get state(): unknown {
    return [this.tracker.flows.live, withoutNulls(this.filter.takeHits())];
  }
}

/** Asks twice for a verdict on bytes; throws when the answers differ or the bytes have changed. */
export function asked(
  bytes: Uint8Array,
  judge: (view: DataView, offset: number, length: number, verdict: Verdict) => void,
): Verdict {
  const offset = 16;
  const arena = new Uint8Array(offset + bytes.length);
  arena.set(bytes, offset);
  const before = arena.slice();
  const [first, second] = [new Verdict(), new Verdict()];
  for (const verdict of [first, second])
    judge(new DataView(arena.buffer), offset, bytes.length, verdict);
  if (Buffer.compare(arena, before) !== 0) throw new Error('the packet was changed');
  if (first.reason !== second.reason || first.place !== second.place || first.to !== second.to)
    throw new Error('the second verdict is another one');
  return second;
}

// Packets that are judged and then tracked, as the packet path does it: first the verdict, which
// changes nothing, then what it says.

import { isDeepStrictEqual } from 'node:util';
import type { Tracker } from '../../../dataplane/filter/tracker.ts';
import { FlowVerdict } from '../../../dataplane/filter/flow-verdict.ts';
import type { InnerPacket } from '../../../dataplane/wire/ip.ts';

const verdict = new FlowVerdict();

/** Judges a packet of a peer, tracks it, and returns the reason. */
export function fromPeer(
  tracker: Tracker,
  view: DataView,
  packet: InnerPacket,
  from: number,
  to: number,
): number {
  const reason = tracker.judge.fromPeer(view, 0, packet, from, to, verdict);
  tracker.track(packet, verdict);
  return reason;
}

/** Judges a packet from the TUN, tracks it, and returns the reason. */
export function toPeer(tracker: Tracker, view: DataView, packet: InnerPacket, to: number): number {
  const reason = tracker.judge.toPeer(view, 0, packet, to, verdict);
  tracker.track(packet, verdict);
  return reason;
}

/** Asks for a verdict three times; throws when the answers differ. Returns the last one. */
export function askedAgain(ask: (verdict: FlowVerdict) => number): FlowVerdict {
  const [first, second, third] = [new FlowVerdict(), new FlowVerdict(), new FlowVerdict()];
  const answers = [ask(first), ask(second), ask(third)];
  if (new Set(answers).size > 1 || !isDeepStrictEqual([first, second], [second, third]))
    throw new Error('a verdict changed what the next one is read from');
  if (answers[2] !== third.reason)
    throw new Error('a verdict returns another reason than it holds');
  return third;
}

// Which flows between two devices the worker of one has forgotten, while that of the other has not.
// A packet that a worker refuses is not handed over, so it keeps its flow in the memory of that
// worker alone (docs/packets.md#workers). The flows are those of a slow twin with one worker.

import { peerAddresses, rulesOf, type Step } from './courses.ts';
import { type Described, type Side, type SlowFlow, SlowTracker } from './slow-filter.ts';

/** The memories of a gateway's workers, where device `i` has worker `i % workers`. */
export class Memories {
  readonly #workers: number;
  readonly #twin = new SlowTracker('accept');
  /** By flow and device: until when the device's worker remembers the flow. */
  readonly #ends = new WeakMap<SlowFlow, Map<Side, number>>();

  constructor(workers: number) {
    this.#workers = workers;
    for (const peer of peerAddresses[4].keys()) this.#twin.scopes.set(peer, `${peer}`);
  }

  /** Takes a step, if it changes what packets are judged by. */
  change(step: Step): void {
    const twin = this.#twin;
    switch (step.type) {
      case 'rules':
        return twin.setRules(step.scope, rulesOf(step, 0));
      case 'default':
        return twin.setDefault(step.action);
      case 'move':
        return twin.move(step.peer, step.scope);
      case 'join':
        return twin.join(step.scope, step.groups);
      case 'forget':
        return twin.forget(step.peer, step.family);
      case 'restart':
        for (const family of [4, 6]) twin.forget(0, family);
        return;
      case 'packet':
      case 'again':
      case 'back':
      case 'error':
      case 'wait':
    }
  }

  /** Whether only one of two workers remembers the flow of a packet at some time of these. */
  differ(packet: Described, from: number, to: number): boolean {
    const flow = this.#twin.flowOf(packet.quotes ?? packet);
    if (flow === undefined || flow.endsAt <= from || !this.#hasTwoWorkers(packet)) return false;
    return [...this.#ends.get(flow)!.values()].some((end) => end <= to);
  }

  /** Whether a packet passes that one device sends to another. */
  judge(packet: Described, now: number): boolean {
    const twin = this.#twin;
    const before = twin.flowOf(packet)?.endsAt;
    twin.now = now;
    const passes = twin.judge(packet).reason === 'none';
    const flow = twin.flowOf(packet);
    if (flow !== undefined && flow.endsAt !== before)
      this.#remember(flow, passes ? [packet.from, packet.to] : [packet.from]);
    return passes;
  }

  /** Notes that the workers of these devices have seen a packet of a flow. */
  #remember(flow: SlowFlow, devices: readonly Side[]): void {
    const ends = this.#ends.get(flow) ?? new Map<Side, number>();
    this.#ends.set(flow, ends);
    for (const device of devices) ends.set(device, flow.endsAt);
  }

  #hasTwoWorkers({ from, to }: Described): boolean {
    return Number(from) % this.#workers !== Number(to) % this.#workers;
  }
}

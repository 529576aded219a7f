// Two tunnels in virtual time, and the messages between them, which a test can change by hand.

import { type ExecutionContext } from 'ava';
import type { Primitives } from '../../../dataplane/noise/primitives.ts';
import type { ReasonName } from '../../../dataplane/reasons.ts';
import { readEndpoint } from '../../../dataplane/wire/address.ts';
import { implementations } from './native.ts';
import { udp } from './packets.ts';
import { SEED } from './seed.ts';
import { type Client, INITIATION, RESPONSE, twoTunnels, type World } from './simulation.ts';

/** The quickest that is here: floods are many Diffie-Hellmans. */
export const quick: Primitives = implementations.at(-1)![1];

export const packet = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
export const answer = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });
export const elsewhere = { address: '203.0.113.66', port: 666 };

export interface Scene {
  world: World;
  responder: Client;
  initiator: Client;
}

export function scene(): Scene {
  return twoTunnels(SEED, { client: { primitives: quick } });
}

/** Two tunnels with a session that both have used. */
export function connected(): Scene {
  const all = scene();
  all.initiator.send(packet);
  all.world.run(100);
  all.responder.send(answer);
  all.world.run(100);
  return all;
}

/** The last message of a type that a tunnel sent. */
export function lastSent({ world }: Scene, type: number, by: Client): Uint8Array {
  return world.sent(type, by).at(-1)!.bytes;
}

/** Makes a tunnel send one more message, which is lost; returns it. */
export function caught(all: Scene, type: number, by: Client, send: () => void): Uint8Array {
  const { loses } = all.world;
  all.world.loses = () => true;
  send();
  all.world.loses = loses;
  return lastSent(all, type, by);
}

/** An initiation that the responder has never seen. */
export function freshInitiation(all: Scene): Uint8Array {
  const { initiator, world } = all;
  return caught(all, INITIATION, initiator, () => {
    initiator.peer.lastInitiationSentAt = Number.NEGATIVE_INFINITY;
    initiator.tunnel.wallMs = world.wallMs;
    initiator.sender.initiate(initiator.peer, false, world.now);
  });
}

/** What a tunnel dropped while `work` ran. */
export function droppedDuring(client: Client, work: () => void): Record<string, number> {
  const before = client.drops();
  work();
  return Object.fromEntries(
    Object.entries(client.drops())
      .map(([name, count]): [string, number] => [name, count - (before[name] ?? 0)])
      .filter(([, count]) => count > 0),
  );
}

/** One message arrives, must be refused by this name, unanswered, and leave nothing behind. */
export function assertRefused(
  t: ExecutionContext,
  all: Scene,
  message: Uint8Array,
  reason: ReasonName,
  note = '',
): void {
  const { world, responder } = all;
  const { indices, timers } = responder.tunnel;
  const before = {
    indices: indices.size,
    keys: responder.engine.liveKeys,
    deadline: timers.nextDeadline,
    sent: world.sent(0, responder).length,
    delivered: responder.delivered.length,
    endpoint: readEndpoint(responder.engine.endpoints, responder.peer.endpointSlot),
    ...keypairsOf(responder),
  };
  const dropped = droppedDuring(responder, () => responder.receive(message.slice(), elsewhere));
  t.deepEqual(dropped, { [reason]: 1 }, note);
  t.deepEqual(
    {
      indices: indices.size,
      keys: responder.engine.liveKeys,
      deadline: timers.nextDeadline,
      sent: world.sent(0, responder).length,
      delivered: responder.delivered.length,
      endpoint: readEndpoint(responder.engine.endpoints, responder.peer.endpointSlot),
      ...keypairsOf(responder),
    },
    before,
    note,
  );
}

export function keypairsOf({ peer: one }: Client): Record<string, number | undefined> {
  const { previous, current, next } = one;
  return {
    previous: previous?.localIndex,
    current: current?.localIndex,
    next: next?.localIndex,
  };
}

/** A scene whose responder and initiator have changed places: the message goes to `responder`. */
export function awaitingResponse(): { all: Scene; message: Uint8Array } {
  const { world, responder, initiator } = scene();
  const reversed = { world, responder: initiator, initiator: responder };
  world.loses = ({ bytes }) => bytes[0] === RESPONSE;
  initiator.send(packet);
  world.run(100);
  return { all: reversed, message: lastSent(reversed, RESPONSE, responder) };
}

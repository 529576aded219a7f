// Handshake messages: one that was changed in any place is refused with a reason, never with an
// exception, and the exchange that it disturbed still ends well with the true message.

import { strict as assert } from 'node:assert';
import { gatewayAndClient, INITIATION, RESPONSE } from '../../support/simulation.ts';
import { udp } from '../../support/packets.ts';
import { implementations } from '../../support/native.ts';
import { ChoiceReader } from '../reader.ts';

const packet = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
const CHANGES_MAX = 8;

// The quickest that is here: most of the time goes into Diffie-Hellmans.
const [, primitives] = implementations.at(-1)!;

/** Damages an initiation or a response, delivers it, then the true one. */
export function handshake(input: Uint8Array): void {
  const reader = new ChoiceReader(input);
  const { world, gateway, client } = gatewayAndClient(1, {
    gateway: { primitives },
    client: { primitives },
  });
  const type = reader.byte() < 128 ? INITIATION : RESPONSE;
  const receiver = type === INITIATION ? gateway : client;
  world.loses = (flight) => {
    if (flight.bytes[0] !== type) return false;
    world.loses = () => false;
    const damaged = damage(flight.bytes, reader);
    const isSame = Buffer.compare(damaged, flight.bytes) === 0;
    receiver.receive(damaged, flight.from);
    return isSame;
  };
  client.send(packet);
  // A handshake may be asked for again after five seconds; the true message is not lost.
  world.run(200);
  assert.equal(gateway.drops()['internal_error'], undefined);
  assert.equal(gateway.delivered.length, 1, 'the true message ended the exchange');
}

function damage(message: Uint8Array, reader: ChoiceReader): Uint8Array {
  const bytes = message.slice();
  for (let changes = 1 + (reader.byte() % CHANGES_MAX); changes > 0; changes--)
    bytes[reader.byte() % bytes.length]! ^= reader.byte();
  const length = reader.byte() < 32 ? reader.byte() % (bytes.length + 1) : bytes.length;
  return bytes.slice(0, length);
}

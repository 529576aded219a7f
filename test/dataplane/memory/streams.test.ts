// Streams of a device, against a machine of TCP that answers as a host does.

import { once } from 'node:events';
import test from 'ava';
import { DeviceStreams } from '../../../dataplane/memory/streams.ts';
import { parseAddress } from '../../../dataplane/wire/address.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { Idle, Station } from '../../support/tcp/ends.ts';
import { viewOf } from '../../support/dataplane/packets.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';

const [SELF, HOST] = [parseAddress('10.8.0.2')!, parseAddress('192.0.2.7')!];

/** A host that accepts, and sends back what comes. */
class Echo extends Idle {
  station!: Station;
  refuses = false;
  override asked(connection: number): void {
    if (this.refuses) this.station.machine.refuse(connection);
    else this.station.machine.accept(connection);
  }
  override received(connection: number, bytes: Buffer, offset: number, length: number): number {
    return this.station.machine.send(connection, bytes, offset, length);
  }
  override finished(connection: number): void {
    this.station.machine.close(connection);
  }
}

function makePair(): { streams: DeviceStreams; host: Echo } {
  const host = new Echo();
  host.station = new Station(host, 5);
  const queue: Uint8Array[] = [];
  const streams: DeviceStreams = new DeviceStreams({
    now: () => performance.now(),
    random: seededRandom(3),
    send: (packet) => {
      if (queue.push(packet) === 1) setImmediate(carry);
    },
  });
  const carry = (): void => {
    host.station.machine.begin(performance.now());
    for (const packet of queue.splice(0)) host.station.receive(1, packet);
    host.station.machine.expire();
    for (let made = host.station.make(); made !== null; made = host.station.make()) {
      // The device is one end of the wire: a run would be cut before.
      streams.receive(made.bytes);
    }
  };
  return { streams, host };
}

test('what is written comes back, and both sides end', async (t) => {
  const { streams } = makePair();
  const stream = streams.connect(SELF, HOST, 80);
  t.teardown(() => streams.close());
  stream.end('hello');
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  t.is(String(Buffer.concat(parts)), 'hello');
  t.true(stream.isConnected);
});

test('a refusal is an error with the code that net.Socket has', async (t) => {
  const { streams, host } = makePair();
  host.refuses = true;
  const stream = streams.connect(SELF, HOST, 80);
  t.teardown(() => streams.close());
  const [error] = (await once(stream, 'error')) as [NodeJS.ErrnoException];
  t.is(error.code, 'ECONNREFUSED');
});

test('packets of others are left to others', (t) => {
  const { streams } = makePair();
  t.teardown(() => streams.close());
  const packet = Buffer.alloc(28);
  packet[0] = 0x45;
  packet[3] = 28;
  packet[9] = 17;
  const inner = new InnerPacket();
  parseInner(viewOf(packet), 0, packet.length, inner);
  t.false(streams.receive(packet));
});

// What a question means: who sends the packet, to whom, and which packet it is. Which questions are
// refused: ../../api/v0/explain.test.ts.

import test from 'ava';
import {
  type QuestionValues,
  readQuestion,
  validateQuestion,
} from '../../../../lib/observe/explain/question.ts';
import {
  InnerPacket,
  parseInner,
  PROTOCOL_TCP,
  PROTOCOL_UDP,
  TCP_ACK,
  TCP_SYN,
} from '../../../../dataplane/wire/ip.ts';
import { viewOf } from '../../../support/dataplane/packets.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';

for (const kind of databaseKinds())
  test(`${kind}: who sends the packet, to whom, and which it is`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: user } = await addUser(database);
    const laptop = await addDevice(database, user, { ipv4: '100.64.0.2', ipv6: 'fd00::2' });
    const phone = await addDevice(database, user, { ipv4: null, ipv6: 'fd00::3' });
    const routes = ['192.168.7.0/24', '2001:db8:7::/48'];
    const router = await addDevice(database, user, { ipv4: '100.64.0.4', routes });
    const read = async (values: object): ReturnType<typeof readQuestion> =>
      readQuestion(database, validateQuestion({ destination: '192.0.2.1', ...values }, 'create'));
    const from = { device_id: laptop.id, protocol: 'tcp', port: 443 };
    const cases: readonly [object, readonly [string, string, boolean]][] = [
      [from, ['100.64.0.2', '192.0.2.1', true]],
      [{ ...from, destination: '2001:DB8::1' }, ['fd00::2', '2001:db8::1', true]],
      [{ ...from, destination: phone.id.toUpperCase() }, ['fd00::2', 'fd00::3', true]],
      [{ ...from, device_id: phone.id, destination: laptop.id }, ['fd00::3', 'fd00::2', true]],
      [
        { ...from, device_id: null, source: '192.0.2.1', destination: laptop.id },
        ['192.0.2.1', '100.64.0.2', false],
      ],
      [
        { ...from, device_id: null, source: '2001:db8::1', destination: 'fd00::3' },
        ['2001:db8::1', 'fd00::3', false],
      ],
      [
        { ...from, device_id: router.id, source: '192.168.7.4' },
        ['192.168.7.4', '192.0.2.1', true],
      ],
      [
        { ...from, device_id: laptop.id, source: '192.168.8.4' },
        ['192.168.8.4', '192.0.2.1', true],
      ],
      [
        { ...from, device_id: router.id, source: '2001:DB8:7::4', destination: phone.id },
        ['2001:db8:7::4', 'fd00::3', true],
      ],
      [
        { ...from, device_id: null, source: '192.0.2.1', destination: '192.168.7.4' },
        ['192.0.2.1', '192.168.7.4', false],
      ],
      [
        { ...from, device_id: null, source: '2001:db8::1', destination: '2001:db8:7::4' },
        ['2001:db8::1', '2001:db8:7::4', false],
      ],
    ];
    for (const [values, [source, destination, isSent]] of cases) {
      const { asked, errors } = await read(values);
      t.deepEqual(errors, {});
      t.like(asked, { source, destination, isSent, port: 443 });
    }
    const packetOf = async (values: Partial<QuestionValues>): Promise<InnerPacket> => {
      const { packet } = (await read({ ...from, ...values })).asked!;
      const inner = new InnerPacket();
      t.is(parseInner(viewOf(packet), 0, packet.length, inner), 0);
      return inner;
    };
    t.like(await packetOf({}), { protocol: PROTOCOL_TCP, destinationPort: 443, flags: TCP_SYN });
    t.like(await packetOf({ begins: false }), { flags: TCP_ACK });
    t.like(await packetOf({ protocol: '47', port: null }), { protocol: 47 });
    t.like(await packetOf({ protocol: 'udp', source_port: 7 }), {
      protocol: PROTOCOL_UDP,
      sourcePort: 7,
    });
    const ports = await Promise.all(
      Array.from({ length: 20 }, async () => (await packetOf({})).sourcePort),
    );
    t.true(ports.every((port) => port >= 49_152));
    t.true(new Set(ports).size > 10, 'a new flow each time');
  });

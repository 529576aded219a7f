// The data plane from outside: a gateway with its worker, real sockets on loopback, no TUN. Every
// engine that exists here runs the same tests, one after the other, because each has a worker of
// its own.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import * as dataplane from '../../../dataplane/index.ts';
import { addon } from '../../support/dataplane/native.ts';
import { checksum, counting, echoRequest, udp } from '../../support/dataplane/packets.ts';
import { randomBytes, rule } from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import {
  Device,
  canPing,
  config,
  configOf,
  engines,
  gatewayTests,
  open,
  pause,
  sharedGatewayTests,
} from '../../support/dataplane/loopback-gateway.ts';
import { LastingFile } from '../../support/suite/lasting.ts';

const file = new LastingFile();
test.after.always('shared gateways end', () => file.end());

// ---- a device --------------------------------------------------------------------------------

for (const engine of engines) {
  const gatewayTest = gatewayTests(engine);
  const sharedTest = sharedGatewayTests(file, engine);

  // ---- what it is ----

  sharedTest('it says what runs', (t, { gateway, log }) => {
    t.like(gateway.facts, { engine, tun: null, masquerade: false, alive: true });
    t.true(gateway.facts.listenPort > 0);
    t.deepEqual(log, []);
    return Promise.resolve();
  });

  // ---- packets ----

  sharedTest(
    'a device makes a session and has its ping answered, both families',
    async (t, { gateway }) => {
      await gateway.apply(config([configOf(2)]));
      const device = await Device.open(t, gateway, 2);
      device.send(echoRequest('10.0.0.2', '10.0.0.1', 5), echoRequest('fd00::2', 'fd00::1', 6));
      const [v4, v6] = await device.receive(2);
      t.is(v4![20], 0);
      t.is(checksum(v4!.subarray(20)), 0);
      t.is(v6![40], 129);
    },
  );

  sharedTest('the tunnel may run over IPv6', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2)]));
    t.true(await canPing(await Device.open(t, gateway, 2, true), 2));
  });

  sharedTest('devices reach each other', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2), configOf(3)]));
    const [a, b] = [await Device.open(t, gateway, 2), await Device.open(t, gateway, 3, true)];
    t.true(await canPing(a, 2));
    t.true(await canPing(b, 3));
    const fields = { source: '10.0.0.2', destination: '10.0.0.3' };
    const data = Array.from({ length: 50 }, (_, i) => counting(1 + i * 25, i));
    a.send(...data.map((one) => udp({ ...fields, data: one })));
    t.deepEqual(
      await b.receive(50),
      data.map((one) => udp({ ...fields, hopLimit: 63, data: one })),
    );
  });

  // docs/bugs-of-others.md#bug-9: oversized or odd datagrams.
  // docs/bugs-of-others.md#bug-25: silence.
  gatewayTest('a flood of nonsense is not answered and stops nobody', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2)]));
    const device = await Device.open(t, gateway, 2);
    const socket = createSocket('udp4');
    t.teardown(() => socket.close());
    let answers = 0;
    socket.on('message', () => answers++);
    const random = chance(5);
    for (let i = 0; i < 600; i++) {
      const bytes = randomBytes(random, (i * 7) % 1_900);
      if (bytes.length > 4) bytes.set([1 + (i % 4), 0, 0, 0]);
      socket.send(bytes, gateway.facts.listenPort, '127.0.0.1');
      if (i % 50 === 0) await pause(1);
    }
    t.true(await canPing(device, 2));
    t.is(answers, 0);
    t.true(gateway.facts.alive);
    const { drops } = await gateway.sample();
    t.true(drops['malformed_message']! > 100);
    t.is(drops['internal_error'], undefined);
  });

  // ---- change ----

  sharedTest('a change is in force when its promise is', async (t, { gateway }, refused) => {
    await gateway.apply(config([configOf(2)]));
    const device = await Device.open(t, gateway, 2);
    t.true(await canPing(device, 2));
    await gateway.apply(config([configOf(2)], { owner: [rule('1', 'drop', '10.0.0.1')] }));
    device.send(echoRequest('10.0.0.2', '10.0.0.1'));
    await pause(50);
    t.deepEqual(await refused(), { rule_drop: 1 });
    await gateway.apply(config([configOf(2)]));
    t.true(await canPing(device, 2));
  });

  sharedTest('a removed device is gone when the promise is', async (t, { gateway }, refused) => {
    await gateway.apply(config([configOf(2), configOf(3)]));
    const [a, b] = [await Device.open(t, gateway, 2), await Device.open(t, gateway, 3)];
    t.true(await canPing(a, 2));
    t.true(await canPing(b, 3));
    await gateway.apply(config([configOf(3)]));
    a.send(echoRequest('10.0.0.2', '10.0.0.1'));
    t.true(await canPing(b, 3));
    await pause(50);
    t.deepEqual(a.client.delivered, []);
    t.deepEqual(await refused(), { transport_unknown_index: 1 });
  });

  sharedTest(
    'an amendment is in force for what it names, and costs others nothing',
    async (t, { gateway }, refused) => {
      await gateway.apply(config([configOf(2), configOf(3)]));
      const [a, b] = [await Device.open(t, gateway, 2), await Device.open(t, gateway, 3)];
      t.true(await canPing(a, 2));
      t.true(await canPing(b, 3));
      const keypair = b.client.peer.current;
      await gateway.amend({
        peers: new Map([
          [configOf(2).publicKey, null],
          [configOf(4).publicKey, configOf(4)],
        ]),
        rules: new Map([['owner', new Map([['1', [rule('1', 'drop', '10.0.0.9')]]])]]),
      });
      a.send(echoRequest('10.0.0.2', '10.0.0.1'));
      t.true(await canPing(b, 3));
      t.is(b.client.peer.current, keypair);
      t.true(await canPing(await Device.open(t, gateway, 4), 4));
      b.send(echoRequest('10.0.0.3', '10.0.0.9'));
      await pause(50);
      t.deepEqual(a.client.delivered, []);
      t.is((await refused())['rule_drop'], 1);
      await gateway.amend({ peers: new Map(), rules: new Map([['owner', new Map([['1', []]])]]) });
      t.true(await canPing(b, 3));
    },
  );

  sharedTest('the same configuration again costs no session', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2)], { owner: [rule('1', 'accept', '0.0.0.0/0')] }));
    const device = await Device.open(t, gateway, 2);
    t.true(await canPing(device, 2));
    const keypair = device.client.peer.current;
    for (let i = 0; i < 5; i++)
      await gateway.apply(config([configOf(2)], { owner: [rule('1', 'accept', '0.0.0.0/0')] }));
    t.true(await canPing(device, 2));
    t.is(device.client.peer.current, keypair);
  });

  sharedTest('many changes at once are taken in order', async (t, { gateway }) => {
    const changes = Array.from({ length: 30 }, (_, i) =>
      gateway.apply(config([configOf(2 + (i % 7))], { owner: [rule(`${i}`, 'drop', '10.0.0.1')] })),
    );
    changes.push(gateway.apply(config([configOf(2)])));
    await Promise.all(changes);
    t.true(await canPing(await Device.open(t, gateway, 2), 2));
  });

  sharedTest(
    'compiled rules may be applied again after they were handed over',
    async (t, { gateway }) => {
      const rules = { owner: [rule('1', 'drop', '10.0.0.0/8', { type: 'tcp', first: 80 })] };
      for (let i = 0; i < 3; i++) {
        await gateway.apply(config([configOf(2)], rules));
        await gateway.apply(config([configOf(2)]));
      }
      t.true(await canPing(await Device.open(t, gateway, 2), 2));
    },
  );

  // ---- statistics ----

  gatewayTest('a sample tells what moved, once', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2)], { owner: [rule('r', 'accept', '10.0.0.0/8')] }));
    const device = await Device.open(t, gateway, 2);
    let arrivals = 0;
    gateway.whenArrived(() => (arrivals += 1));
    t.true(await canPing(device, 2));
    const sample = await gateway.sample();
    t.is(arrivals, 1, 'it was called for when the device came');
    const [moved] = sample.peers;
    t.is(moved!.publicKey, configOf(2).publicKey);
    t.deepEqual(moved!.endpoint, device.client.endpoint);
    t.is(moved!.rxBytes, 148 + 32 + 48);
    t.is(moved!.txBytes, 92 + 32 + 48);
    t.true(Math.abs(moved!.latestHandshakeMs! - Date.now()) < 10_000);
    t.like(sample.rules[0], { id: 'r', packets: 1, bytes: 36 });
    const forgotten = { share: 0, full: 0, ended_share: 0, ended_full: 0 };
    const { sockets: _sockets, retransmits: _retransmits, ...rest } = await gateway.sample();
    t.deepEqual(rest, { peers: [], rules: [], drops: {}, forgotten });
    const { rxBytes, txBytes, endpoint, latestHandshakeMs } = moved!;
    t.deepEqual(
      [...gateway.peers()].map(({ config: { publicKey }, ...rest }) => [publicKey, rest]),
      [[configOf(2).publicKey, { rxBytes, txBytes, endpoint, latestHandshakeMs }]],
      'totals stay',
    );
  });

  gatewayTest(
    'what no rule matches is dropped where the default says so',
    async (t, { gateway }) => {
      await gateway.apply(config([configOf(2)]));
      const device = await Device.open(t, gateway, 2);
      device.send(echoRequest('10.0.0.2', '10.0.0.1'));
      let drops: Readonly<Record<string, number>> = {};
      for (let i = 0; i < 100 && drops['default_drop'] === undefined; i++) {
        await pause(20);
        ({ drops } = await gateway.sample());
      }
      t.deepEqual(drops, { default_drop: 1 });
    },
    { defaultAction: 'drop' },
  );

  gatewayTest('what no rule matches follows an amendment', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2)]));
    const device = await Device.open(t, gateway, 2);
    const setDefault = (defaultAction: 'accept' | 'drop'): Promise<void> =>
      gateway.amend({ peers: new Map(), rules: new Map(), defaultAction });
    t.true(await canPing(device, 2));
    await setDefault('drop');
    t.false(await canPing(device, 2));
    t.like((await gateway.sample()).drops, { default_drop: 1 });
    await setDefault('accept');
    t.true(await canPing(device, 2));
  });

  // ---- ports ----

  for (const type of ['udp4', 'udp6'] as const) {
    test.serial(
      `${engine}: a port that ${type} uses already is named, with the setting that fixes it`,
      async (t) => {
        const socket = createSocket({ type, ipv6Only: type === 'udp6' });
        t.teardown(() => socket.close());
        socket.bind(0);
        await once(socket, 'listening');
        const { port } = socket.address();
        await t.throwsAsync(open(t, { engine, listenPort: port }), {
          message: new RegExp(`^UDP port ${port} is taken; .*WIREGUARD_PORT`),
        });
        await assertFree(t, port, type === 'udp4' ? 'udp6' : 'udp4');
      },
    );
  }

  test.serial(`${engine}: a closed gateway has freed its port`, async (t) => {
    const { gateway } = await open(t, { engine });
    const { listenPort } = gateway.facts;
    await gateway.close();
    await assertFree(t, listenPort, 'udp4');
    await assertFree(t, listenPort, 'udp6');
    const { gateway: again } = await open(t, { engine, listenPort });
    t.is(again.facts.listenPort, listenPort);
  });

  test.serial(`${engine}: several gateways live in one process`, async (t) => {
    const benches = await Promise.all([1, 2, 3].map(() => open(t, { engine })));
    t.is(new Set(benches.map(({ gateway }) => gateway.facts.listenPort)).size, 3);
    await Promise.all(benches.map(({ gateway }) => gateway.apply(config([configOf(2)]))));
    for (const { gateway } of benches) t.true(await canPing(await Device.open(t, gateway, 2), 2));
  });

  // ---- closing ----

  gatewayTest('closing twice is no harm', async (t, { gateway }) => {
    await Promise.all([gateway.close(), gateway.close()]);
    await gateway.close();
    t.false(gateway.facts.alive);
  });

  gatewayTest(
    'a gateway that closes reports the end of each flow, and what it refused lately',
    async (t, { gateway }) => {
      const peers = [configOf(2), configOf(3)];
      await gateway.apply(config(peers, { owner: [rule('no', 'drop', '10.0.0.3')] }));
      const device = await Device.open(t, gateway, 2);
      t.true(await canPing(device, 2));
      device.send(udp({ source: '10.0.0.2', destination: '10.0.0.3' }));
      t.true(await canPing(device, 2));
      await gateway.close();
      const logged = Array.from({ length: 3 }, () => gateway.flowLog!.take());
      const said = logged.map((one) => `${one?.because ?? one?.reason ?? one?.event}`);
      t.deepEqual(said.toSorted(), ['gateway_stopped', 'opened', 'rule_drop']);
      const ended = logged.find((one) => one?.event === 'ended');
      t.like(ended, { opener: configOf(2).publicKey, sentPackets: 2 });
      t.is(gateway.flowLog!.take(), null);
      t.deepEqual(gateway.flowLog!.lost, { full: 0, share: 0 });
    },
    { logsFlows: true },
  );

  gatewayTest('a gateway explains what would become of a packet', async (t, { gateway }) => {
    const drops = [rule('no', 'drop', '10.0.0.3')];
    await gateway.apply(config([configOf(2), configOf(3)], { owner: drops }));
    const ask = (from: number, destination: string) => {
      const packet = udp({ source: `10.0.0.${from}`, destination });
      return gateway.ask('explain', { from: configOf(from).publicKey, packet });
    };
    const [two, three] = [configOf(2).publicKey, configOf(3).publicKey];
    const by = { by: 'rule', rule: 'no', staged: null } as const;
    const decision = { ...by, flow: 'none', opener: two } as const;
    const refused = {
      reason: 'rule_drop',
      place: 'nowhere',
      to: null,
      waitsFor: [],
      decision,
      next: null,
    };
    t.deepEqual<unknown, unknown>(await ask(2, '10.0.0.3'), refused);
    t.like(await ask(3, '10.0.0.2'), { reason: 'peer_no_endpoint', to: two, place: 'nowhere' });
    t.like(await ask(3, '127.0.0.1'), { reason: 'inner_destination_reserved', decision: null });
    const echo = echoRequest('10.0.0.3', '10.0.0.1');
    t.like(await gateway.ask('explain', { from: three, packet: echo }), {
      reason: 'none',
      place: 'sender',
    });
    t.is(await ask(4, '10.0.0.2'), null, 'it is not served');
    t.deepEqual((await gateway.sample()).drops, {});
    await gateway.close();
    await t.throwsAsync(ask(2, '10.0.0.3'), { message: 'the gateway is closed' });
  });

  gatewayTest('a gateway says what it remembers of handshakes', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2)]));
    const { publicKey } = configOf(2);
    t.like(await gateway.ask('diagnose', publicKey), { attempts: [], latestHandshakeMs: null });
    t.true(await canPing(await Device.open(t, gateway, 2), 2));
    const trace = await gateway.ask('diagnose', publicKey);
    t.is(trace!.attempts.length, 1);
    t.like(trace!.attempts[0], { kind: 'answered', reason: null, count: 1 });
    t.is(trace!.attempts[0]!.confirmedAtMs, trace!.latestHandshakeMs);
    t.is(trace!.attempts[0]!.endpoint!.address, '127.0.0.1');
    // Two clocks, which round.
    t.true(trace!.inside.passedAtMs! >= trace!.latestHandshakeMs! - 5);
    t.is(await gateway.ask('diagnose', configOf(3).publicKey), null, 'it is not served');
    t.deepEqual(await gateway.ask('unknownSenders'), { keys: [], otherGateway: [] });
    const stranger = await Device.open(t, gateway, 3);
    t.false(await canPing(stranger, 3));
    const { keys, otherGateway } = await gateway.ask('unknownSenders');
    t.deepEqual(
      keys.map((one) => one.publicKey),
      [configOf(3).publicKey],
    );
    t.deepEqual(otherGateway, []);
    await gateway.close();
    await t.throwsAsync(gateway.ask('diagnose', publicKey), { message: 'the gateway is closed' });
    await t.throwsAsync(gateway.ask('unknownSenders'), { message: 'the gateway is closed' });
  });

  gatewayTest(
    'a gateway lists live flows, ended ones and refused packets',
    async (t, { gateway }) => {
      const drops = [rule('no', 'drop', '192.0.2.0/24'), rule('yes', 'accept', '10.0.0.1')];
      await gateway.apply(config([configOf(2)], { owner: drops }));
      const device = await Device.open(t, gateway, 2);
      t.true(await canPing(device, 2));
      device.send(udp({ source: '10.0.0.2', destination: '192.0.2.1', destinationPort: 53 }));
      await pause(50);
      const anyone = { device: null, scope: null };
      const asked = { ...anyone, destination: null, rule: null };
      const { flows, next } = await gateway.ask('flows', asked, 10, null);
      const { publicKey } = configOf(2);
      t.is(next, null);
      t.like(flows, [{ opener: publicKey, destination: '10.0.0.1', protocol: 1, rule: 'yes' }]);
      const now = Date.now();
      t.true(Math.abs(flows[0]!.latestMs - now) < 5_000);
      const refusals = await gateway.ask('refusals', { ...anyone, reason: null }, 10);
      t.is(refusals.length, 1);
      t.like(refusals[0], {
        device: publicKey,
        destination: '192.0.2.1',
        port: 53,
        reason: 'rule_drop',
        rule: 'no',
        count: 1,
      });
      t.true(Math.abs(refusals[0]!.latestMs - now) < 5_000);
      t.like((await gateway.sample()).forgotten, { share: 0, full: 0 });
      t.deepEqual(await gateway.ask('endedFlows', asked, 10, null), { flows: [], next: null });
      await gateway.apply(config([], { owner: drops }));
      let ended = await gateway.ask('endedFlows', asked, 10, null);
      for (const until = Date.now() + 20_000; ended.flows.length === 0 && Date.now() < until;) {
        await pause(100);
        ended = await gateway.ask('endedFlows', asked, 10, null);
      }
      const because = 'device_removed';
      t.like(ended, {
        flows: [{ opener: publicKey, because, by: 'rule', rule: 'yes' }],
        next: null,
      });
      await gateway.close();
      await t.throwsAsync(gateway.ask('endedFlows', asked, 10, null), {
        message: 'the gateway is closed',
      });
      await t.throwsAsync(gateway.ask('flows', asked, 10, null), {
        message: 'the gateway is closed',
      });
      await t.throwsAsync(gateway.ask('refusals', { ...anyone, reason: null }, 10), {
        message: 'the gateway is closed',
      });
    },
  );

  gatewayTest('a gateway captures the packets of a device', async (t, { gateway }) => {
    await gateway.apply(config([configOf(2), configOf(3)]));
    const [a, b] = [await Device.open(t, gateway, 2), await Device.open(t, gateway, 3)];
    t.true(await canPing(b, 3));
    const any = { destination: null, protocol: null, port: null, onlyRefused: false };
    const order = { ...any, publicKey: configOf(2).publicKey, snaplen: 28 };
    const capture = (await gateway.capture(order))!;
    t.true(await canPing(a, 2));
    a.send(udp({ source: '10.0.0.2', destination: '10.0.0.3', data: 'x' }));
    await b.receive(1);
    t.true(await canPing(b, 3));
    const packet = dataplane.createCapturedPacket();
    const found: [number, string, number][] = [];
    while (capture.take(packet)) found.push([packet.place, packet.reason, packet.bytes.length]);
    t.deepEqual(found, [
      [dataplane.FROM_DEVICE, 'none', 28],
      [dataplane.TO_DEVICE, 'none', 28],
      [dataplane.FROM_DEVICE, 'none', 28],
    ]);
    t.not(await gateway.capture(order), null);
    t.is(await gateway.capture(order), null, 'two run');
    capture.end();
    t.not(await gateway.capture(order), null);
    await gateway.close();
    await t.throwsAsync(gateway.capture(order), { message: 'the gateway is closed' });
  });

  gatewayTest('a closed gateway has nothing to tell', async (t, { gateway }) => {
    await gateway.close();
    t.deepEqual(await gateway.sample(), { peers: [], rules: [], drops: {}, forgotten: {} });
  });

  gatewayTest('a change of a closed gateway is refused, not waited for', async (t, { gateway }) => {
    await gateway.close();
    const late = pause(1_000).then(() => 'still waiting');
    const applied = gateway.apply(config([configOf(2)])).then(
      () => 'applied',
      () => 'refused',
    );
    t.is(await Promise.race([applied, late]), 'refused');
  });

  gatewayTest(
    'commands, of which one closes, do not wait for a deadline',
    async (t, { gateway }) => {
      // A worker with nothing to do waits a second, and each command ends one wait: twenty seconds.
      const began = performance.now();
      for (let i = 0; i < 20; i += 1) {
        await gateway.apply(config([configOf(2 + (i % 2))]));
        await pause(20);
      }
      await gateway.close();
      const took = performance.now() - began;
      t.true(took < 10_000, `${took} ms`);
    },
  );
}

// ---- a worker that fails ---

async function assertFree(t: ExecutionContext, port: number, type: 'udp4' | 'udp6'): Promise<void> {
  const socket = createSocket({ type, ipv6Only: type === 'udp6' });
  socket.bind(port);
  await t.notThrowsAsync(once(socket, 'listening'), `${type} ${port}`);
  socket.close();
}

// ---- choices ---------------------------------------------------------------------------------

test.serial('without a choice the addon is used if there is one', async (t) => {
  const { gateway, log } = await open(t);
  t.is(gateway.facts.engine, addon === null ? 'typescript' : 'native');
  t.is(log.length, addon === null ? 1 : 0);
});

test.serial('workers that run already are used, and who is not needed ends', async (t) => {
  const early = dataplane.startWorkers({ engine: 'native', workers: 2 }, false);
  const exits = early.map((worker) => once(worker, 'exit'));
  const { gateway } = await open(t, { engine: 'typescript' }, early);
  // It would wait for its options for ever.
  await exits[1];
  await gateway.apply(config([configOf(2)]));
  t.true(await canPing(await Device.open(t, gateway, 2), 2));
  await gateway.close();
  t.deepEqual(await exits[0], [0], 'stopped by its gateway');
});

test.serial('a required TUN that cannot be opened is named with its fix', async (t) => {
  // No interface can have this name, whatever rights the process has.
  const options = { tun: 'required', interfaceName: 'no/such' } as const;
  await t.throwsAsync(open(t, options), {
    message: /^WIREGUARD_TUN=required, but no TUN interface no\/such: /,
  });
});

test.serial('without a TUN that is optional the gateway starts, with a warning', async (t) => {
  const { gateway, log } = await open(t, { tun: 'auto', interfaceName: 'no/such' });
  t.is(gateway.facts.tun, null);
  t.is(log.filter((line) => line.startsWith('warn no TUN interface no/such')).length, 1);
  await gateway.apply(config([configOf(2)]));
  t.true(await canPing(await Device.open(t, gateway, 2), 2));
});

test.serial('the gateway has no address of a family that is switched off', async (t) => {
  const { gateway } = await open(t, { ipv6: null });
  await gateway.apply(config([configOf(2)]));
  const device = await Device.open(t, gateway, 2);
  t.true(await canPing(device, 2));
  device.send(echoRequest('fd00::2', 'fd00::1'));
  await pause(50);
  t.deepEqual((await gateway.sample()).drops, { no_tun: 1 });
});

test.serial(
  'the door gives a gateway, captures, keys, addresses and their comparison, groups, rules to try, packets to ask about and names of reasons, and nothing of the inside',
  (t) => {
    t.deepEqual(Object.keys(dataplane).sort(), [
      'FROM_DEVICE',
      'GLOBAL_SCOPE',
      'GROUP_NUMBERS',
      'MAX_CAPTURES',
      'MAX_PEERS',
      'REFUSED',
      'RuleTrial',
      'TO_DEVICE',
      'UNFINISHED_CHECKSUM',
      'askedPacket',
      'besideScope',
      'createCapturedPacket',
      'createGateway',
      'defaultSignals',
      'derivePublicKey',
      'endReasons',
      'formatAddress',
      'groupOfScope',
      'groupScope',
      'inspectHost',
      'isLowOrder',
      'loadGateway',
      'makePrivateKey',
      'notify',
      'openUdpSockets',
      'parseAddress',
      'readFilesMax',
      'readHostAddresses',
      'reasonNames',
      'releaseMemory',
      'sameBytes',
      'stagedScope',
      'startWorkers',
    ]);
  },
);

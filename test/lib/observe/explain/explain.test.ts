// What becomes of a packet is explained by the gateway that would carry it, and what the explanation
// says then happens. The gates of the rows: ../../api/v0/explain.test.ts.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Explanation } from '../../../../dataplane/index.ts';
import type { Answer } from '../../../../lib/observe/explain/fields.ts';
import { gateNames, waits } from '../../../../lib/observe/explain/gates.ts';
import {
  type Asker,
  createGateway,
  NoAnswerError,
  type TestGateway,
} from '../../../../lib/testing/index.ts';
import { explain } from '../../../../lib/observe/explain/explain.ts';
import { readQuestion, validateQuestion } from '../../../../lib/observe/explain/question.ts';
import { fixedSettingsOf } from '../../../../lib/domain/configuration/fixed-settings.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { configOf } from '../../../support/api/server.ts';
import { fakeExplaining, passing } from '../../../support/observe/fake-gateway.ts';
import { checkAnswer } from '../../../support/api/openapi.ts';
import { until } from '../../../support/gateway/postern.ts';

const ECHO = { protocol: 'icmp' } as const;

/** Asks over the API; the answer must be as the OpenAPI document says. */
async function ask(t: ExecutionContext, gateway: TestGateway, explain: object): Promise<Answer> {
  const answer = await gateway.inject('POST', '/v0/explain', { body: { explain } });
  t.is(answer.status, 200, answer.text);
  t.is(checkAnswer('POST', '/v0/explain', answer), null);
  return answer.body.data as Answer;
}

/** The gates as letters: passed, refused, not reached. */
function lettersOf({ gates }: Answer): string {
  return gates.map(({ outcome }) => outcome[0]).join('');
}

test('a packet that passes, and the rule that accepts it', async (t) => {
  await using gateway = await createGateway({ settings: { DEFAULT_ACTION: 'drop' } });
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  const packet = { device_id: laptop.id, destination: '10.0.0.5', protocol: 'tcp', port: 443 };
  const refused = await ask(t, gateway, packet);
  t.like(refused, { verdict: 'drop', reason: 'default_drop', rule_id: null });
  t.like(refused, { flow: 'none', opener_id: null });
  t.is(refused.text, 'No rule matches it, and the default action is to drop.');
  t.is(refused.advice, 'Add a rule that accepts it, or change the default action.');
  await t.throwsAsync(laptop.connect('10.0.0.5', 443), { message: /default_drop: 1/ });
  const { id } = await gateway.api.post('/v0/rules', {
    rule: { action: 'accept', destination: '10.0.0.0/8', user_id: laptop.userId },
  });
  const dropped = await gateway.api.post('/v0/rules', {
    rule: { action: 'drop', destination: '10.0.0.0/16' },
  });
  await gateway.api.post('/v0/rules', { rule: { action: 'drop', destination: '10.1.0.0/16' } });
  const staged = await gateway.api.post('/v0/rules', {
    rule: {
      destination: '10.0.0.0/24',
      user_id: laptop.userId,
      port_type: 'tcp',
      port_range: '443',
      enforced: false,
    },
  });
  const { gates, gateway_id, latest_handshake: _, ...answer } = await ask(t, gateway, packet);
  t.deepEqual(answer, {
    verdict: 'accept',
    reason: null,
    waits_for: [],
    rule_id: String(id),
    staged_rule_id: String(staged['id']),
    staged_verdict: 'drop',
    text: 'It passes. A rule accepts it. A staged rule would drop it.',
    advice: null,
    flow: 'opens',
    opener_id: laptop.id,
    host: [],
    shadowed: [String(dropped['id'])],
    connected_gateway_id: null,
  });
  t.regex(gateway_id, /^[0-9a-f-]{36}$/);
  t.deepEqual(
    gates.map(({ code }) => code),
    [...gateNames],
  );
  t.true(gates.every(({ outcome }) => outcome === 'passed'));
  await (await laptop.connect('10.0.0.5', 443)).close();
});

test('the latest handshake of the device is shown, once the sampler has written it', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  const packet = { device_id: laptop.id, destination: '10.0.0.5', protocol: 'icmp' };
  const startedMs = Date.now();
  await laptop.ping('10.0.0.5');
  let shown: string | null = null;
  await until('the handshake is written', async () => {
    ({ latest_handshake: shown } = await ask(t, gateway, packet));
    return shown !== null;
  });
  t.true(Math.abs(Date.parse(String(shown)) - startedMs) < 60_000);
});

/** Answers datagrams at an address; the result says from which port the last one came. */
function answerAt(gateway: TestGateway, address: string): () => number {
  let port = 0;
  const udp = (data: Buffer, asker: Asker): Buffer => {
    port = asker.port;
    return data;
  };
  gateway.host(address, { udp });
  return () => port;
}

test('a packet of a known flow names who opened it', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const portOfAsker = answerAt(gateway, '10.0.0.5');
  await laptop.udp('10.0.0.5', 53, 'x');
  const port = portOfAsker();
  const back = { source: '10.0.0.5', destination: laptop.id, protocol: 'udp' };
  const opens = await ask(t, gateway, { ...back, port: port ^ 1, source_port: 53 });
  t.like(opens, { verdict: 'accept', flow: 'opens', opener_id: null });
  const known = await ask(t, gateway, { ...back, port, source_port: 53 });
  t.like(known, { verdict: 'accept', flow: 'continues', opener_id: laptop.id });
  t.regex(known.text, /^It passes\. It belongs to a flow that is known\./);
});

test('without a TUN no host opens a connection to a device; what answers one passes', async (t) => {
  await using gateway = await createGateway({
    tun: 'sockets',
    settings: { WIREGUARD_MTU: '1420' },
  });
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const portOfAsker = answerAt(gateway, '10.0.0.5');
  const back = { source: '10.0.0.5', destination: laptop.id, protocol: 'udp', source_port: 53 };
  const others = [
    { protocol: 'udp', port: 4_000 },
    { protocol: 'tcp', port: 443 },
    { protocol: 'tcp', port: 443, begins: false },
    { protocol: 'icmp', source_port: null },
    // The way is asked before the size.
    { protocol: 'udp', port: 4_000, size: 1_421 },
  ];
  for (const other of others) {
    const answer = await ask(t, gateway, { ...back, ...other });
    t.like(answer, { verdict: 'drop', reason: 'no_way_in', waits_for: [], host: [] });
    t.is(lettersOf(answer), 'pppppppppprnnn');
    t.regex(
      answer.text,
      /^Without a TUN, and without root, nothing beyond the gateway opens a connection to a device/,
    );
  }
  t.like(await ask(t, gateway, { ...back, source: '127.0.0.1', port: 4_000 }), {
    reason: 'packet_source_forged',
  });
  await using server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: served } = server.address() as AddressInfo;
  gateway.host('10.0.0.6', { forward: `127.0.0.1:${served}` });
  const stream = laptop.stream('10.0.0.6', 443);
  const [flow] = (await gateway.inject('GET', '/v0/flows')).body.data;
  const answered = { ...back, source: '10.0.0.6', protocol: 'tcp', source_port: 443 };
  const begun = { ...answered, port: flow.source_port };
  t.like(await ask(t, gateway, begun), { verdict: 'drop', reason: 'no_way_in' });
  t.like(await ask(t, gateway, { ...begun, begins: false }), { verdict: 'accept' });
  stream.destroy();
  await laptop.udp('10.0.0.5', 53, 'x');
  const port = portOfAsker();
  const known = await ask(t, gateway, { ...back, port });
  t.like(known, { verdict: 'accept', flow: 'continues', opener_id: laptop.id });
  t.is(lettersOf(known), 'p'.repeat(gateNames.length));
  const asBig = await ask(t, gateway, { ...back, port, size: 1_421 });
  t.like(asBig, { verdict: 'drop', reason: 'packet_too_big' });
});

test('asking opens no flow and counts nothing', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const host = gateway.host('10.0.0.5');
  const rule = { action: 'drop', destination: '10.0.0.5', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  const before = gateway.drops();
  const ports = { protocol: 'udp', port: 53, source_port: 4_000 };
  const question = { device_id: laptop.id, destination: '10.0.0.5', ...ports };
  for (let i = 0; i < 3; i++) t.is((await ask(t, gateway, question)).rule_id, String(id));
  t.deepEqual(gateway.drops(), before);
  t.like(await gateway.api.get(`/v0/rules/${String(id)}/counters`), { packets: 0 });
  await gateway.api.delete(`/v0/rules/${String(id)}`);
  await ask(t, gateway, question);
  // Had the question opened a flow, this would be its answer.
  const answer = { source: '10.0.0.5', destination: laptop.ipv4, protocol: 'udp' };
  const found = await ask(t, gateway, { ...answer, port: 4_000, source_port: 53 });
  t.is(found.text, 'It passes. Rules are asked only about flows that a device opens.');
  await host.ping(laptop.ipv4);
});

test('a refusal of the packet path is at its gate, and what comes later is not reached', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'bob@example.com' });
  const to = (destination: string): object => ({
    device_id: laptop.id,
    destination,
    protocol: 'udp',
    port: 9,
  });
  const cases = [
    ['127.0.0.1', 'inner_destination_reserved', 'ppppppprnnnnnn'],
    ['169.254.169.254', 'inner_destination_reserved', 'ppppppprnnnnnn'],
    ['100.64.0.77', 'no_peer', 'pppppppppprnnn'],
  ] as const;
  for (const [destination, reason, letters] of cases) {
    const answer = await ask(t, gateway, to(destination));
    t.is(answer.reason, reason, destination);
    t.is(lettersOf(answer), letters, destination);
    const error = await t.throwsAsync(laptop.udp(destination, 9, 'x'), {
      instanceOf: NoAnswerError,
    });
    t.deepEqual(error.refusals, { [reason]: 1 }, destination);
  }
  const answer = await ask(t, gateway, to(phone.id));
  t.is(answer.reason, null);
  t.is(lettersOf(answer), 'p'.repeat(gateNames.length));
  t.is(String(await laptop.udp(phone.ipv4, 9, 'x')), 'x');
});

test('a packet waits for the device that it is for, and for one that sends it', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'bob@example.com' });
  gateway.host('10.0.0.5');
  await laptop.ping('10.0.0.5');
  await phone.ping('10.0.0.5');
  t.like(await phone.explain(laptop.id, 'tcp/443'), { verdict: 'accept', waits_for: [] });
  await until('the row says where the laptop is', async () => {
    const { remote_ip } = await gateway.api.get(`/v0/devices/${laptop.id}`);
    return remote_ip !== null;
  });
  // The gateway forgets its session, and knows where it is.
  laptop.offline();
  for (const enabled of [false, true])
    await gateway.api.patch(`/v0/devices/${laptop.id}`, { device: { enabled } });
  const answer = await phone.explain(laptop.id, 'tcp/443');
  t.like(answer, { verdict: 'accept', reason: null, waits_for: ['receiver'] });
  t.regex(answer.text, /^Nothing refuses it\. .* the packet waits for a handshake, and is dropped/);
  t.is(answer.advice, waits.receiver.advice);
  t.is(lettersOf(answer), 'pppppppppppppw');
  const sent = await laptop.explain('10.0.0.5', 'tcp/443');
  t.like(sent, { verdict: 'accept', waits_for: ['sender'], advice: waits.sender.advice });
  t.regex(sent.text, /The device that sends it has no session .* it must connect first\.$/);
  t.is(lettersOf(sent), 'ppppwppppppppp');
  const dropped = await laptop.explain('127.0.0.1', 'tcp/443');
  t.like(dropped, { verdict: 'drop', waits_for: [] });
});

test('a host behind a device is asked about as it then sends, and as it is sent to', async (t) => {
  await using gateway = await createGateway();
  const router = await gateway.addDevice({ user: 'alice@example.com', routes: ['192.168.7.0/24'] });
  const phone = await gateway.addDevice({ user: 'bob@example.com' });
  gateway.host('10.0.0.5');
  const inside = await router.explain('10.0.0.5', 'tcp/443', { source: '192.168.7.4' });
  t.like(inside, { verdict: 'accept', flow: 'opens', opener_id: router.id });
  const outside = await router.explain('10.0.0.5', 'tcp/443', { source: '192.168.8.4' });
  t.like(outside, { verdict: 'drop', reason: 'inner_source_not_allowed' });
  t.is(lettersOf(outside), 'ppppppr' + 'n'.repeat(gateNames.length - 7));
  t.regex(String(outside.advice), /or name the network behind it/);
  const foreign = await phone.explain('10.0.0.5', 'tcp/443', { source: '192.168.7.4' });
  t.is(foreign.reason, 'inner_source_not_allowed');
  const rule = { action: 'drop', destination: '10.0.0.5', user_id: router.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  const ruled = await router.explain('10.0.0.5', 'tcp/443', { source: '192.168.7.4' });
  t.like(ruled, { reason: 'rule_drop', rule_id: String(id) });
  const back = { source: '10.0.0.5', destination: '192.168.7.4', protocol: 'icmp' };
  t.like(await ask(t, gateway, back), { verdict: 'accept', flow: 'opens', opener_id: null });
  const across = await phone.explain('192.168.7.4', 'udp/53');
  t.like(across, { verdict: 'accept', opener_id: phone.id });
});

test('a packet that is too big for its device, and one that just fits', async (t) => {
  await using gateway = await createGateway({ settings: { WIREGUARD_MTU: '1420' } });
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({
    user: 'bob@example.com',
    use_default_mtu: false,
    mtu: 1_280,
  });
  const host = gateway.host('10.0.0.5');
  const headers = 28;
  for (const [sender, fields] of [
    [laptop, { device_id: laptop.id }],
    [host, { source: '10.0.0.5' }],
  ] as const)
    for (const [size, isTooBig] of [
      [1_280, false],
      [1_281, true],
      [1_420, true],
    ] as const) {
      const where = `${JSON.stringify(fields)} ${size}`;
      const question = { ...fields, destination: phone.id, protocol: 'udp', port: 9, size };
      const answer = await ask(t, gateway, question);
      t.is(answer.reason, isTooBig ? 'packet_too_big' : null, where);
      if (isTooBig) t.regex(lettersOf(answer), /^p{11}rnn$/, where);
      if (isTooBig) t.regex(answer.text, /too big .*; its sender would get the right size/);
      const sent = sender.udp(phone.ipv4, 9, 'x'.repeat(size - headers));
      if (!isTooBig) t.is((await sent).length, size - headers);
      else {
        const error = await t.throwsAsync(sent, { instanceOf: NoAnswerError });
        t.deepEqual(error.refusals, { packet_too_big: 1 }, where);
      }
    }
  // To a host the tunnel sets no limit, and no packet is smaller than its headers.
  t.is((await laptop.explain('10.0.0.5', 'udp/9', { size: 1_420 })).reason, null);
  const smaller = { device_id: laptop.id, destination: '10.0.0.5', protocol: 'tcp', port: 9 };
  const explain = { ...smaller, size: 39 };
  const { status, body } = await gateway.inject('POST', '/v0/explain', { body: { explain } });
  t.is(status, 422);
  t.deepEqual(body, {
    errors: { size: ['must be at least 40, which the headers of the packet take'] },
  });
});

test('without a data plane nobody can say it; without a doctor the host is not spoken of', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const config = configOf();
  const recall = new Recall(database, fixedSettingsOf(config));
  const device = await addDevice(database, (await addUser(database)).id);
  const question = { device_id: device.id, destination: '192.0.2.1', protocol: 'icmp' };
  const { asked } = await readQuestion(database, validateQuestion(question, 'create'));
  if (asked === null) return t.fail();
  await t.throwsAsync(explain({ config, database }, recall, asked), {
    message: 'service_unavailable',
  });
  const explaining = fakeExplaining();
  const answer = await explain({ config, database, explaining }, recall, asked);
  t.like(answer, { verdict: 'accept', host: [] });
  return undefined;
});

test('without root, what pasta does not carry is refused where it would leave', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const config = configOf();
  const recall = new Recall(database, fixedSettingsOf(config));
  const device = await addDevice(database, (await addUser(database)).id);
  const [inside] = await database.models.Device.findAll();
  const asAnswer = { ...passing.decision!, flow: 'continues', opener: 'key' } as const;
  const explained = async (question: object, found: Explanation = passing): Promise<Answer> => {
    const { asked } = await readQuestion(database, validateQuestion(question, 'create'));
    const explaining = fakeExplaining(async () => found, { way: 'pasta' });
    return explain({ config, database, explaining }, recall, asked!);
  };
  const sent = { device_id: device.id, destination: '192.0.2.1' };
  for (const other of [{ protocol: 'tcp', port: 9 }, { protocol: 'udp', port: 9 }, ECHO]) {
    const answer = await explained({ ...sent, ...other });
    t.is(answer.verdict, 'accept');
    const { text } = answer.gates.find(({ code }) => code === 'way')!;
    t.is(text, 'There is a way to the destination, by a socket of pasta.');
  }
  const gre = { ...sent, protocol: '47' };
  const lost = await explained(gre);
  t.like(lost, { verdict: 'drop', reason: 'no_way_out', waits_for: [], host: [] });
  t.is(lettersOf(lost), 'pppppppppprnnn');
  const toGateway = { ...gre, destination: config.wireguardIpv4Address };
  t.is((await explained(toGateway)).reason, null, 'it does not leave');
  t.is((await explained(gre, { ...passing, place: 'device' })).reason, null, 'nor does this one');
  t.is((await explained(gre, { ...passing, reason: 'rule_drop' })).reason, 'rule_drop');
  const back = { source: '192.0.2.1', destination: inside!.id, ...ECHO };
  t.is((await explained(back)).reason, 'no_way_in');
  const tcp = { ...back, protocol: 'tcp', port: 9, begins: false };
  t.is((await explained(tcp, { ...passing, place: 'device', decision: asAnswer })).reason, null);
});

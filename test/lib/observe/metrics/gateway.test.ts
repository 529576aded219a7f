// Metrics of the gateway as a whole: rules, drops, the reconciler, devices that come and go.

import test from 'ava';
import { reasonNames } from '../../../../dataplane/index.ts';
import {
  answerMetrics,
  socketMetrics,
  captureMetrics,
  dropMetrics,
  fileMetrics,
  factMetrics,
  flowLogMetrics,
  forgottenMetrics,
  presenceMetrics,
  reconcilerMetrics,
  ruleMetrics,
} from '../../../../lib/observe/metrics/gateway.ts';
import { readExposition, valueOf } from '../../../support/observe/exposition.ts';
import { fakeWatched } from '../../../support/observe/fake-gateway.ts';

const read = (pieces: Iterable<string>) => readExposition([...pieces].join(''));

test('every reason of a drop is there from the beginning', (t) => {
  const families = read(dropMetrics({ rule_drop: 3 }));
  const samples = families.get('wg_gateway_dropped_packets_total')?.samples ?? [];
  t.deepEqual(
    samples.map(({ labels }) => labels['reason']),
    reasonNames.filter((name) => name !== 'none'),
  );
  t.is(valueOf(families, 'wg_gateway_dropped_packets_total', { reason: 'rule_drop' }), 3);
  t.is(valueOf(families, 'wg_gateway_dropped_packets_total', { reason: 'no_peer' }), 0);
});

test('records of refused packets that were given up are counted by why, from the beginning', (t) => {
  const name = 'wg_gateway_refusal_records_forgotten_total';
  const families = read(forgottenMetrics({ share: 7 }));
  t.is(valueOf(families, name, { reason: 'share' }), 7);
  t.is(valueOf(families, name, { reason: 'full' }), 0);
});

test('answers for devices that cannot be reached are counted, from the beginning', (t) => {
  const name = 'wg_gateway_unreachable_answers_total';
  const families = read(answerMetrics({ sent: 4, withheld: 2 }));
  t.is(valueOf(families, name, { result: 'sent' }), 4);
  t.is(valueOf(families, name, { result: 'withheld' }), 2);
  t.is(valueOf(read(answerMetrics({})), name, { result: 'withheld' }), 0);
});

test('sockets in place of a TUN are counted, and are 0 where there are none', (t) => {
  t.is(valueOf(read(socketMetrics({})), 'wg_gateway_sockets', { protocol: 'tcp' }), 0);
  const sockets = { tcp: 5, udp: 3, echo: 1, connecting: 2, buffered: 4_096 };
  const families = read(socketMetrics({ sockets, retransmits: { segments: 7 } }));
  for (const [protocol, count] of Object.entries({ tcp: 5, udp: 3, echo: 1 }))
    t.is(valueOf(families, 'wg_gateway_sockets', { protocol }), count);
  t.is(valueOf(families, 'wg_gateway_sockets_connecting'), 2);
  t.is(valueOf(families, 'wg_gateway_sockets_buffered_bytes'), 4_096);
  t.is(valueOf(families, 'wg_gateway_sockets_retransmits_total'), 7);
});

test('each part that has open files shows them and its share', (t) => {
  const families = read(fileMetrics({ relay: { open: 6, max: 20 } }));
  t.is(valueOf(families, 'wg_gateway_files', { part: 'relay' }), 6);
  t.is(valueOf(families, 'wg_gateway_files_max', { part: 'relay' }), 20);
});

test('so are records of ended flows', (t) => {
  const name = 'wg_gateway_ended_flows_forgotten_total';
  const families = read(forgottenMetrics({ share: 7, ended_full: 3 }));
  t.is(valueOf(families, name, { reason: 'share' }), 0);
  t.is(valueOf(families, name, { reason: 'full' }), 3);
});

test('rules in force have counters, hit or not; rules that are gone have none', (t) => {
  const hit = (id: string) => ({ id, packets: 2, bytes: 300, lastHitMs: 5_500 });
  const rules = new Map([
    ['hit', hit('hit')],
    ['staged', hit('staged')],
    ['gone', hit('gone')],
  ]);
  const actions = [
    { id: 'hit', action: 'drop', isStaged: false },
    { id: 'idle', action: 'accept', isStaged: false },
    { id: 'staged', action: 'drop', isStaged: true },
  ] as const;
  const families = read(
    ruleMetrics(
      () => rules,
      () => actions,
    ),
  );
  const one = { rule_id: 'hit', action: 'drop' };
  const idle = { rule_id: 'idle', action: 'accept' };
  t.is(valueOf(families, 'wg_gateway_rule_packets_total', one), 2);
  t.is(valueOf(families, 'wg_gateway_rule_bytes_total', one), 300);
  t.is(valueOf(families, 'wg_gateway_rule_last_hit_seconds', one), 5.5);
  t.is(valueOf(families, 'wg_gateway_rule_packets_total', idle), 0);
  t.is(valueOf(families, 'wg_gateway_rule_last_hit_seconds', idle), undefined);
  const staged = { rule_id: 'staged', action: 'drop' };
  t.is(valueOf(families, 'wg_gateway_staged_rule_packets_total', staged), 2);
  t.is(valueOf(families, 'wg_gateway_rule_packets_total', staged), undefined, 'it decided nothing');
  t.is(valueOf(families, 'wg_gateway_staged_rule_packets_total', one), undefined);
  t.false(JSON.stringify([...families]).includes('gone'));
});

test('the reconciler says how far it is and how it does', (t) => {
  const problems = [{ table: 'rules', id: 'r', message: 'm' }] as const;
  const families = read(reconcilerMetrics(fakeWatched(), () => problems));
  for (const [name, value, labels] of [
    ['wg_gateway_reconciler_applied_revision', 7, {}],
    ['wg_gateway_reconciler_turns_total', 3, { result: 'done' }],
    ['wg_gateway_reconciler_turns_total', 1, { result: 'failed' }],
    ['wg_gateway_reconciler_turn_seconds_sum', 1.5, {}],
    ['wg_gateway_reconciler_turn_seconds_count', 3, {}],
    ['wg_gateway_reconciler_last_success_seconds', 1, {}],
    ['wg_gateway_reconciler_failing', 0, {}],
    ['wg_gateway_reconciler_problems', 1, { table: 'rules' }],
    ['wg_gateway_reconciler_problems', 0, { table: 'devices' }],
    ['wg_gateway_database_away', 0, {}],
    ['wg_gateway_schema_newer', 0, {}],
    ['wg_gateway_users_over_quota', 2, {}],
    ['wg_gateway_sampler_failing', 0, {}],
  ] as const)
    t.is(valueOf(families, name, labels), value, name);
  const fresh = {
    ...fakeWatched().reconciler(),
    lastTurnMs: null,
    isFailing: true,
    isClosed: true,
    isSchemaNewer: true,
  };
  const failing = read(reconcilerMetrics(fakeWatched([], { reconciler: () => fresh }), () => []));
  t.is(valueOf(failing, 'wg_gateway_reconciler_last_success_seconds'), undefined);
  t.is(valueOf(failing, 'wg_gateway_reconciler_failing'), 1);
  t.is(valueOf(failing, 'wg_gateway_database_away'), 1);
  t.is(valueOf(failing, 'wg_gateway_schema_newer'), 1);
});

test('devices that come and go are counted', (t) => {
  const families = read(presenceMetrics(fakeWatched()));
  t.is(valueOf(families, 'wg_gateway_connected_devices'), 1);
  t.is(valueOf(families, 'wg_gateway_device_connects_total'), 2);
  t.is(valueOf(families, 'wg_gateway_device_disconnects_total', { reason: 'silent' }), 1);
  t.is(valueOf(families, 'wg_gateway_device_disconnects_total', { reason: 'removed' }), 0);
  t.is(valueOf(families, 'wg_gateway_device_disconnects_total', { reason: 'elsewhere' }), 0);
  t.is(valueOf(families, 'wg_gateway_device_disconnects_total', { reason: 'session_ended' }), 2);
});

test('what runs and whether it serves', (t) => {
  const about = { version: '1.2.3', tunnel: 'wg-postern', publicKey: 'k' };
  const ready = { status: 'ready', tun: 'wg-postern', masquerade: true } as const;
  const families = read(factMetrics(fakeWatched().facts(), ready, about));
  t.is(valueOf(families, 'wg_gateway_build_info', { version: '1.2.3', engine: 'native' }), 1);
  t.is(valueOf(families, 'wireguard_device_info', { device: 'wg-postern', public_key: 'k' }), 1);
  for (const name of ['ready', 'data_plane_up', 'tun_up', 'masquerade_up'])
    t.is(valueOf(families, `wg_gateway_${name}`), 1, name);
  t.is(valueOf(families, 'wg_gateway_workers'), 1);
  t.is(valueOf(families, 'wg_gateway_kernel_connections'), undefined, 'none are tracked');
  const connections = { entries: 12, max: 262_144 };
  const tracked = read(factMetrics({ ...fakeWatched().facts(), connections }, ready, about));
  t.is(valueOf(tracked, 'wg_gateway_kernel_connections'), 12);
  t.is(valueOf(tracked, 'wg_gateway_kernel_connections_max'), 262_144);
  const tunError = 'wg-postern has lost fd00::1: EACCES';
  const lost = read(factMetrics({ ...fakeWatched().facts(), tunError }, ready, about));
  t.is(valueOf(lost, 'wg_gateway_tun_up'), 0);
  for (const egress of ['tun', 'sockets', 'none'] as const) {
    const found = read(factMetrics(fakeWatched().facts(), { ...ready, egress }, about));
    for (const way of ['tun', 'sockets', 'none'])
      t.is(valueOf(found, 'wg_gateway_egress', { way }), way === egress ? 1 : 0, egress);
  }
  const down = { status: 'draining', tun: null, masquerade: false } as const;
  for (const name of ['ready', 'data_plane_up', 'tun_up', 'masquerade_up'])
    t.is(valueOf(read(factMetrics(null, down, about)), `wg_gateway_${name}`), 0, name);
});

test('captures that run, and the packets of all of them', (t) => {
  const text = [...captureMetrics({ running: 1, packets: 70, lost: 8 })].join('');
  const values = Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.split(' ')),
  ) as Record<string, string>;
  t.deepEqual(values, {
    wg_gateway_captures_running: '1',
    wg_gateway_captured_packets_total: '70',
    wg_gateway_capture_lost_packets_total: '8',
  });
});

test('the flow log counts what was reported, and what was lost, from the beginning', (t) => {
  const families = read(
    flowLogMetrics({
      records: { opened: 7, ended: 5, refused: 0 },
      lost: { ring_full: 0, device_share: 2, unsent: 9 },
    }),
  );
  const records = (event: string) =>
    valueOf(families, 'wg_gateway_flow_log_records_total', { event });
  t.deepEqual(['opened', 'ended', 'refused'].map(records), [7, 5, 0]);
  const lost = (reason: string) => valueOf(families, 'wg_gateway_flow_log_lost_total', { reason });
  t.deepEqual(['ring_full', 'device_share', 'unsent'].map(lost), [0, 2, 9]);
});

// Metrics of the gateway as a whole: what it is, hits of rules, packets that were refused, the
// reconciler, devices that come and go. Everything comes from memory; rules and drops are those of
// this process since it, or its data plane, began.

import { type GatewayFacts, reasonNames, type Sample } from '../../../dataplane/index.ts';
import type { FileShare, FileShares } from '../file-shares.ts';
import type {
  CaptureCounts,
  FlowLogCounts,
  Observed,
  Readiness,
  Watched,
} from '../gateway-state.ts';
import { byLabel, family, labelText, sample, single } from './exposition.ts';

/** What the gateway is, and whether it serves. */
export function* factMetrics(
  facts: GatewayFacts | null,
  { status, tun, masquerade, egress }: Readiness,
  about: { readonly version: string; readonly tunnel: string; readonly publicKey: string },
): Generator<string> {
  const { version, tunnel, publicKey } = about;
  yield family('wg_gateway_build_info', 'gauge', 'What runs.');
  const engine = facts?.engine ?? 'none';
  yield sample('wg_gateway_build_info', labelText({ version, engine }), 1);
  yield family('wireguard_device_info', 'gauge', 'The WireGuard interface of this gateway.');
  const device = labelText({ device: tunnel, public_key: publicKey });
  yield sample('wireguard_device_info', device, 1);
  yield single(
    'wg_gateway_ready',
    'gauge',
    'Whether the gateway serves.',
    flag(status === 'ready'),
  );
  const up = facts?.alive === true;
  yield single('wg_gateway_data_plane_up', 'gauge', 'Whether the data plane runs.', flag(up));
  const workers = facts?.workers ?? 0;
  yield single('wg_gateway_workers', 'gauge', 'How many workers carry packets.', workers);
  const hasTun = tun !== null && (facts?.tunError ?? null) === null;
  const ofTun = 'Whether there is a TUN, with the addresses of the gateway.';
  yield single('wg_gateway_tun_up', 'gauge', ofTun, flag(hasTun));
  const ways = 'How packets of devices leave: 1 at the way that this gateway takes, 0 at others.';
  yield* byLabel(
    ['wg_gateway_egress', 'gauge', ways],
    'way',
    ['tun', 'sockets', 'none'].map((way) => [way, flag(way === egress)] as const),
  );
  const help = 'Whether what leaves is masqueraded.';
  yield single('wg_gateway_masquerade_up', 'gauge', help, flag(masquerade));
  yield* connectionMetrics(facts?.connections ?? null);
}

/** The kernel's table of connections, of all of this host; absent where it tracks none. */
function* connectionMetrics(connections: GatewayFacts['connections']): Generator<string> {
  if (connections === null) return;
  const { entries, max } = connections;
  const used = "Connections in the kernel's table, which masquerading needs.";
  yield single('wg_gateway_kernel_connections', 'gauge', used, entries);
  const most = 'Connections that the table can hold; when it is full, new ones fail.';
  yield single('wg_gateway_kernel_connections_max', 'gauge', most, max);
}

/** Packets that were refused, by reason; a reason that never occurred is 0. */
export function dropMetrics(drops: Readonly<Record<string, number>>): Generator<string> {
  const known = Object.fromEntries(reasonNames.map((name) => [name, 0]));
  delete known['none'];
  return byLabel(
    [
      'wg_gateway_dropped_packets_total',
      'counter',
      'Packets and messages that were refused since the data plane began, by reason.',
    ],
    'reason',
    Object.entries({ ...known, ...drops }),
  );
}

/** Records of refused packets and of ended flows that were given up for others, by why. */
export function* forgottenMetrics(forgotten: Readonly<Record<string, number>>): Generator<string> {
  const { share = 0, full = 0, ended_share: endedShare = 0, ended_full: endedFull = 0 } = forgotten;
  yield* byLabel(
    [
      'wg_gateway_refusal_records_forgotten_total',
      'counter',
      'Entries of the list of refused packets that were given up for others: the device had its share, or the list was full.',
    ],
    'reason',
    Object.entries({ share, full }),
  );
  yield* byLabel(
    [
      'wg_gateway_ended_flows_forgotten_total',
      'counter',
      'Entries of the list of ended flows that were given up for later ones: the device had its share, or the list was full.',
    ],
    'reason',
    Object.entries({ share: endedShare, full: endedFull }),
  );
}

/** Answers to the host and the LAN that nobody is where they send to, by what became of them. */
export function answerMetrics(answers: Readonly<Record<string, number>>): Generator<string> {
  return byLabel(
    [
      'wg_gateway_unreachable_answers_total',
      'counter',
      'Answers (ICMP host unreachable) to the host and the LAN for devices that cannot be reached: sent, or withheld because ten were sent in the second.',
    ],
    'result',
    Object.entries({ sent: 0, withheld: 0, ...answers }),
  );
}

/** Sockets in place of a TUN, and those of connections to the gateway itself. */
export function* socketMetrics({
  sockets = {},
  retransmits = {},
}: Partial<Pick<Sample, 'sockets' | 'retransmits'>>): Generator<string> {
  const { tcp = 0, udp = 0, echo = 0, connecting = 0, buffered = 0 } = sockets;
  const open = 'Sockets for devices that are open, by protocol.';
  yield* byLabel(
    ['wg_gateway_sockets', 'gauge', open],
    'protocol',
    Object.entries({ tcp, udp, echo }),
  );
  const waiting = 'TCP connections of devices whose host has not answered yet.';
  yield single('wg_gateway_sockets_connecting', 'gauge', waiting, connecting);
  const bytes = 'Bytes of TCP that wait for devices or for hosts.';
  yield single('wg_gateway_sockets_buffered_bytes', 'gauge', bytes, buffered);
  const again = 'TCP segments that were sent to devices again.';
  const name = 'wg_gateway_sockets_retransmits_total';
  yield single(name, 'counter', again, retransmits['segments'] ?? 0);
}

/** The open files of the parts that have a share of them. */
export function* fileMetrics(shares: FileShares): Generator<string> {
  const valuesOf = (which: keyof FileShare) =>
    Object.entries(shares).map(([part, share]) => [part, share[which]] as const);
  const open = 'Open files of the parts of the gateway that divide them among each other.';
  yield* byLabel(['wg_gateway_files', 'gauge', open], 'part', valuesOf('open'));
  const most =
    'Files that each part may have open; what it refuses beyond is counted as too_few_files, too_many, egress_full or relay_full.';
  yield* byLabel(['wg_gateway_files_max', 'gauge', most], 'part', valuesOf('max'));
}

/** Hits of the rules that are in force; a rule that was never hit is 0. */
export function* ruleMetrics(
  rules: Observed['rules'],
  ruleActions: Watched['ruleActions'],
): Generator<string> {
  const hits = rules();
  // All at once: rules come and go while this is sent, and none may be shown twice.
  const all = [...ruleActions()].map(({ id, action, isStaged }) => ({
    labels: labelText({ rule_id: id, action }),
    hit: hits.get(id),
    isStaged,
  }));
  const shown = all.filter(({ isStaged }) => !isStaged);
  const counts = [
    ['packets', 'Packets that a rule decided on since this gateway began.'],
    ['bytes', 'Bytes of the packets that a rule decided on since this gateway began.'],
  ] as const;
  for (const [what, help] of counts) {
    const name = `wg_gateway_rule_${what}_total`;
    yield family(name, 'counter', help);
    for (const { labels, hit } of shown) yield sample(name, labels, hit?.[what] ?? 0);
  }
  const name = 'wg_gateway_rule_last_hit_seconds';
  yield family(name, 'gauge', 'Unix time of the last hit of a rule; absent before the first.');
  for (const { labels, hit } of shown)
    if (hit !== undefined) yield sample(name, labels, hit.lastHitMs / 1_000);
  const staged = 'wg_gateway_staged_rule_packets_total';
  yield family(staged, 'counter', 'Packets that a staged rule would have decided on.');
  for (const { labels, hit, isStaged } of all)
    if (isStaged) yield sample(staged, labels, hit?.packets ?? 0);
}

/** The reconciler: how far it is, how it does, and rows that it cannot obey. */
export function* reconcilerMetrics(
  { reconciler, isSamplerFailing }: Pick<Watched, 'reconciler' | 'isSamplerFailing'>,
  problems: Observed['problems'],
): Generator<string> {
  const work = reconciler();
  const name = (rest: string): string => `wg_gateway_reconciler_${rest}`;
  yield single(
    name('applied_revision'),
    'gauge',
    'The revision of the database that packets obey; -1 before the first.',
    work.appliedRevision,
  );
  yield* byLabel(
    [name('turns_total'), 'counter', 'Turns of the reconciler, by how they ended.'],
    'result',
    [
      ['done', work.turns],
      ['failed', work.failures],
    ],
  );
  yield family(name('turn_seconds'), 'summary', 'How long turns took that ended well.');
  yield sample(`${name('turn_seconds')}_sum`, '', work.turnsMs / 1_000);
  yield sample(`${name('turn_seconds')}_count`, '', work.turns);
  yield family(
    name('last_success_seconds'),
    'gauge',
    'Unix time of the last turn that ended well.',
  );
  if (work.lastTurnMs !== null)
    yield sample(name('last_success_seconds'), '', work.lastTurnMs / 1_000);
  const failing = 'Whether the data plane cannot follow the database.';
  yield single(name('failing'), 'gauge', failing, flag(work.isFailing));
  const closed = 'Whether no packet passes, because the database is away for too long.';
  yield single('wg_gateway_database_away', 'gauge', closed, flag(work.isClosed));
  const newer = 'Whether a later version migrated the database, so that only what ends is obeyed.';
  yield single('wg_gateway_schema_newer', 'gauge', newer, flag(work.isSchemaNewer));
  const over =
    'Users whose devices reach nothing but the gateway until the next month, because of their quota.';
  yield single('wg_gateway_users_over_quota', 'gauge', over, work.usersOverQuota);
  const backup = 'wg_gateway_last_backup_seconds';
  const ofBackup =
    'Unix time of the last backup by `backup --keep` that was read back; absent before the first.';
  yield family(backup, 'gauge', ofBackup);
  if (work.lastBackupMs !== null) yield sample(backup, '', work.lastBackupMs / 1_000);
  const byTable = { devices: 0, rules: 0 };
  for (const { table } of problems()) byTable[table] += 1;
  const rows = 'Rows that cannot be obeyed as they stand.';
  yield* byLabel([name('problems'), 'gauge', rows], 'table', Object.entries(byTable));
  yield single(
    'wg_gateway_sampler_failing',
    'gauge',
    'Whether traffic totals cannot be written; they are kept and written later.',
    flag(isSamplerFailing()),
  );
}

/** What became of the rows of the history; absent where none is kept. */
export function* historyMetrics({ history }: Pick<Watched, 'history'>): Generator<string> {
  const counts = history();
  if (counts === null) return;
  const name = (rest: string): string => `wg_gateway_history_rows_${rest}`;
  const written = 'Rows of the history of traffic and connections that were written.';
  yield single(name('written_total'), 'counter', written, counts.written);
  const lost = 'Rows of the history that were lost, because the database was away for too long.';
  yield single(name('lost_total'), 'counter', lost, counts.lost);
  const waiting = 'Rows of the history that wait to be written.';
  yield single(name('waiting'), 'gauge', waiting, counts.waiting);
}

/** How many devices are connected, and how often they came and went. */
export function* presenceMetrics({ presence }: Pick<Watched, 'presence'>): Generator<string> {
  const { connected, connects, disconnects } = presence();
  yield single(
    'wg_gateway_connected_devices',
    'gauge',
    'Devices whose last handshake with this gateway still serves.',
    connected,
  );
  yield single(
    'wg_gateway_device_connects_total',
    'counter',
    'First handshakes of devices after a silence.',
    connects,
  );
  yield* byLabel(
    [
      'wg_gateway_device_disconnects_total',
      'counter',
      'Ends of connections of devices, by reason.',
    ],
    'reason',
    Object.entries(disconnects),
  );
}

/** Captures of packets. */
export function* captureMetrics({ running, packets, lost }: CaptureCounts): Generator<string> {
  const name = (rest: string): string => `wg_gateway_${rest}`;
  yield single(name('captures_running'), 'gauge', 'Captures of packets that run.', running);
  const captured = 'Packets that captures handed on since this gateway began.';
  yield single(name('captured_packets_total'), 'counter', captured, packets);
  const late = 'Packets that captures lost, because their clients read too slowly.';
  yield single(name('capture_lost_packets_total'), 'counter', late, lost);
}

/** The flow log, where there is one. */
export function* flowLogMetrics({ records, lost }: FlowLogCounts): Generator<string> {
  const taken = 'Records of flows that were reported (FLOW_LOG), by what became of the flow.';
  yield* byLabel(
    ['wg_gateway_flow_log_records_total', 'counter', taken],
    'event',
    Object.entries(records),
  );
  const without =
    'Records of flows that were lost: the ring of the worker was full, the device had too many in a second, or they could not be sent or written.';
  yield* byLabel(
    ['wg_gateway_flow_log_lost_total', 'counter', without],
    'reason',
    Object.entries(lost),
  );
}

function flag(value: boolean): number {
  return value ? 1 : 0;
}

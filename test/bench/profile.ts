// Where a gateway's CPU time goes, by perf (Debian's linux-perf): samples of its stacks, put into
// groups that name a step of the packet path.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** What makes Node say where its compiled functions are. */
export const PROFILED_NODE = '--perf-basic-prof --interpreted-frames-native-stack';

/** Samples a second: no round number, so that no timer runs in step with it. */
const FREQUENCY = '1999';

const groups = [
  'ChaCha20-Poly1305',
  'copies into and out of the kernel',
  'TUN: read and write',
  'TCP sockets of the host: read and write',
  'UDP: receive and send',
  'forwarding, segmentation and the other network devices',
  'TCP and UDP of the two ends',
  'waiting and waking',
  'JavaScript',
  'the addon: checksums, joining, cutting',
  'Node-API, V8 and the rest of node',
  'the rest of the kernel',
] as const;
type Group = (typeof groups)[number];

/** Of each group, what is in a stack; the first that matches is taken. */
const signs: readonly (readonly [Group, 'leaf' | 'any', RegExp])[] = [
  [
    'ChaCha20-Poly1305',
    'leaf',
    /ChaCha20|chacha|oly1305|EVP_|evp_|[Oo][Ss][Ss][Ll]|OPENSSL|Aead|get_size_t_ctx/,
  ],
  [
    'copies into and out of the kernel',
    'leaf',
    /^_?_?copy_(from|to)_(iter|user)|^_copy_(from|to)_iter/,
  ],
  [
    'TCP and UDP of the two ends',
    'any',
    /tcp_v[46]_rcv|tcp_v[46]_do_rcv|udp_unicast_rcv|udp_queue_rcv|__udp4_lib_rcv|udpv6_rcv/,
  ],
  [
    'forwarding, segmentation and the other network devices',
    'any',
    /net_rx_action|handle_softirqs|do_softirq|__dev_queue_xmit/,
  ],
  [
    'TCP sockets of the host: read and write',
    'any',
    /tcp_(send|recv)msg|inet_accept|tcp_v[46]_connect|tcp_close|tcp_poll/,
  ],
  ['waiting and waking', 'any', /sys_poll|ppoll|schedule|futex|epoll/],
  ['TUN: read and write', 'any', /tun_chr|ksys_read|vfs_read|do_writev|vfs_writev/],
  ['UDP: receive and send', 'any', /recvmmsg|recvmsg|sendmmsg|sendmsg/],
  ['the rest of the kernel', 'any', /do_syscall_64|entry_SYSCALL|asm_|irqentry/],
  ['JavaScript', 'leaf', /^JS:|^Builtins_/],
  ['the addon: checksums, joining, cutting', 'leaf', /^postern::|^__mem|memcpy|memmove/],
];

function groupOf(stack: readonly string[]): Group {
  for (const [group, where, sign] of signs)
    if (where === 'leaf' ? sign.test(stack[0]!) : stack.some((name) => sign.test(name)))
      return group;
  return 'Node-API, V8 and the rest of node';
}

/** Begins to take samples of a process; what it returns ends that and resolves to shares of 1. */
export function beginProfile(pid: number, path: string): () => Promise<Map<Group, number>> {
  const record = ['record', '-q', '-F', FREQUENCY, '-g', '-o', path, '-p', String(pid)];
  const perf = spawn('perf', record, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(perf, 'exit');
  return async () => {
    perf.kill('SIGINT');
    await ended;
    return readShares(path);
  };
}

async function readShares(path: string): Promise<Map<Group, number>> {
  const script = spawn('perf', ['script', '-i', path, '-F', 'ip,sym'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const counts = new Map<Group, number>(groups.map((group) => [group, 0]));
  let [stack, samples]: [string[], number] = [[], 0];
  // An empty line ends a stack; its first line is the innermost function.
  for await (const line of createInterface({ input: script.stdout })) {
    const name = line.trim().split(' ').slice(1).join(' ');
    if (line.trim() !== '') {
      stack.push(name);
      continue;
    }
    if (stack.length === 0) continue;
    const group = groupOf(stack);
    counts.set(group, counts.get(group)! + 1);
    samples += 1;
    stack = [];
  }
  return new Map([...counts].map(([group, count]) => [group, count / samples]));
}

/** A table: a row for each group, a column for each case, in what `costs` are in. */
export function profileTable(
  cases: readonly string[],
  shares: readonly ReadonlyMap<Group, number>[],
  costs: readonly number[],
): string {
  const rows = groups.map((group) => {
    const cells = shares.map((share, i) => ((share.get(group) ?? 0) * costs[i]!).toFixed(2));
    return `| ${group} | ${cells.join(' | ')} |`;
  });
  const sums = costs.map((cost) => cost.toFixed(2));
  return [
    `| | ${cases.join(' | ')} |`,
    `|---|${'---:|'.repeat(cases.length)}`,
    ...rows,
    `| all | ${sums.join(' | ')} |`,
  ].join('\n');
}

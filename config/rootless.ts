// What a gateway without root gets from the programs that became it (execve(2)): the UDP sockets,
// which it has from the network of the host, that it relays TCP, a process that is still in the
// network of the host, and which process is pasta (lib/start/rootless). They are no settings:
// nobody writes them.

/** What a gateway without root is to do otherwise. */
export interface Rootless {
  /** Descriptors of the UDP sockets; empty: it opens them itself. */
  readonly udpSockets: readonly number[];
  /** Whether it relays TCP connections of devices. */
  readonly relaysTcp: boolean;
  /** Number of a process in the network of the host; null: the gateway is there itself. */
  readonly hostProcess: number | null;
  /** The file that holds the number of the process of pasta; null: there is none. */
  readonly pastaFile: string | null;
}

const UDP_SOCKETS = 'POSTERN_UDP_SOCKETS';
const TCP_RELAY = 'POSTERN_TCP_RELAY';
const HOST_PROCESS = 'POSTERN_HOST_PROCESS';
const PASTA_FILE = 'POSTERN_PASTA_FILE';

/** Their names. */
export const rootlessNames: readonly string[] = [UDP_SOCKETS, TCP_RELAY, HOST_PROCESS, PASTA_FILE];

/** The variables by which a gateway learns that it has no root. */
export function rootlessVariables(udpSockets: readonly number[]): Record<string, string> {
  const named = udpSockets.length === 0 ? {} : { [UDP_SOCKETS]: udpSockets.join() };
  return { ...named, [TCP_RELAY]: 'on' };
}

/** Reads those variables; without them the gateway is as any other. */
export function parseRootless(environment: Record<string, string | undefined>): Rootless {
  const text = environment[UDP_SOCKETS] ?? '';
  const udpSockets = /^-?\d+(,-?\d+)*$/.test(text) ? text.split(',').map(Number) : [];
  const number = environment[HOST_PROCESS] ?? '';
  return {
    udpSockets,
    relaysTcp: environment[TCP_RELAY] === 'on',
    hostProcess: /^\d+$/.test(number) ? Number(number) : null,
    pastaFile: environment[PASTA_FILE] ?? null,
  };
}

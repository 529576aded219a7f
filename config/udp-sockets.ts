// The UDP sockets that a gateway inherits from the program that became it (execve(2)): one without
// root has them from the network of the host. They are no setting: nobody writes them.

/** The variable that names them. */
export const UDP_SOCKETS_VARIABLE = 'POSTERN_UDP_SOCKETS';

/** Reads their descriptors; none where there is no such text. */
export function parseUdpSockets(environment: Record<string, string | undefined>): number[] {
  const text = environment[UDP_SOCKETS_VARIABLE] ?? '';
  return /^-?\d+(,-?\d+)*$/.test(text) ? text.split(',').map(Number) : [];
}

// A protocol with a port, as it was typed: `tcp/443`, `udp/53`, `icmp`, `47`.

/** What was typed; the gateway refuses what is no protocol or no port. */
export interface TypedService {
  readonly protocol: string;
  readonly port?: string;
}

/** Reads such a word. */
export function readService(word: string): TypedService {
  const [protocol = '', ...port] = word.toLowerCase().split('/');
  return port.length === 0 ? { protocol } : { protocol, port: port.join('/') };
}

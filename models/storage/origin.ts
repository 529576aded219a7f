// The person or program in whose name a transaction writes. A connection has an origin of its own
// (the gateway, or the command line); code that writes for a request names the request's origin in
// its transaction. An origin is plain data: this room does not know requests.

/** Who acts: somebody who signed in, the person at the command line, or the gateway by itself. */
export const auditActors = ['user', 'command line', 'gateway'] as const;
export type Actor = (typeof auditActors)[number];

/** Where a write comes from. */
export interface Origin {
  readonly actor: Actor;
  readonly userId?: string;
  /** The user's, as it is at the moment. */
  readonly email?: string;
  /** The user is no administrator: of long values an entry keeps only a part. */
  readonly isUnprivileged?: boolean;
  readonly tokenId?: string;
  readonly requestId?: string;
  /** Source address of the request. */
  readonly address?: string;
}

/** What the gateway does by itself, for example at the first start. */
export const GATEWAY: Origin = { actor: 'gateway' };

/** What somebody types at the host. */
export const COMMAND_LINE: Origin = { actor: 'command line' };

// What is used of the package samlp, which brings no types.

declare module 'samlp' {
  import type { IncomingMessage, ServerResponse } from 'node:http';
  /** Makes a handler of express that answers sign-in requests. */
  export function auth(
    options: Record<string, unknown>,
  ): (request: IncomingMessage, response: ServerResponse, next: (error: unknown) => void) => void;
  const samlp: { auth: typeof auth };
  export default samlp;
}

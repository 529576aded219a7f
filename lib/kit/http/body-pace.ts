// How fast the body of a request must arrive. Node bounds the time of a whole request, which must
// suffice for the greatest body; somebody who sends a small one byte by byte would have all of that
// time. Here a body may be late by some seconds and must keep to a least rate from then on. Time
// counts only while the body is read, so nobody pays for a database that is slow.

import type { IncomingMessage, Server } from 'node:http';

/** What a body has to keep to. */
export interface BodyPace {
  /** How late a body may be. */
  readonly graceMs: number;
  readonly bytesPerSecondMin: number;
}

/** The pace that serves: 64 KiB within six seconds, 1 MiB within 21. */
export const BODY_PACE: BodyPace = { graceMs: 5_000, bytesPerSecondMin: 65_536 };

/** Ends connections whose requests bring their bodies too slowly, as Node ends late requests. */
export function paceBodies(listener: Server, pace: BodyPace): void {
  listener.on('request', (request: IncomingMessage) => {
    request.once('resume', () => paceBody(listener, request, pace));
  });
}

function paceBody(listener: Server, request: IncomingMessage, pace: BodyPace): void {
  const { graceMs, bytesPerSecondMin } = pace;
  /** When what arrived so far will be too little. */
  let lateMs = performance.now() + graceMs;
  let timer: NodeJS.Timeout;
  request.on('data', (chunk: Buffer) => {
    lateMs += (chunk.length / bytesPerSecondMin) * 1_000;
  });
  const look = (): void => {
    if (request.complete || request.destroyed) return;
    const leftMs = lateMs - performance.now();
    if (leftMs > 0) {
      timer = setTimeout(look, leftMs);
      return;
    }
    const error = Object.assign(new Error('a body arrived too slowly'), {
      code: 'ERR_HTTP_REQUEST_TIMEOUT',
    });
    listener.emit('clientError', error, request.socket);
  };
  look();
  request.once('close', () => clearTimeout(timer));
}

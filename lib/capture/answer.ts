// The answer that carries a capture, by API and console alike.

import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Readable } from 'node:stream';

/** The type of what is answered. */
export const PCAPNG_TYPE = 'application/x-pcapng';

/** Answers a capture; an empty text stands for its headers alone. */
export function captureAnswer(h: ResponseToolkit, body: Readable | ''): ResponseObject {
  // Proxies must hand on each packet at once, and keep none.
  const headers = { 'x-accel-buffering': 'no', 'cache-control': 'no-store' };
  const response = h.response(body).code(200).type(PCAPNG_TYPE);
  for (const [name, value] of Object.entries(headers)) response.header(name, value);
  return response;
}

/** The name of the file for a device: nothing that could end a header or leave a folder. */
export function captureFileName(device: string): string {
  const name = device.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '');
  return `${name === '' ? 'device' : name.slice(0, 100)}.pcapng`;
}

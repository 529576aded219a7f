// The answer that carries a capture, by API and console alike.

/** The type of what is answered. */
export const PCAPNG_TYPE = 'application/x-pcapng';

/** An answer that gets its headers. */
interface Answer {
  type(mime: string): unknown;
  header(name: string, value: string): unknown;
}

/** Says of an answer that it carries a capture. */
export function asCapture<Carrying extends Answer>(answer: Carrying): Carrying {
  answer.type(PCAPNG_TYPE);
  // Proxies must hand on each packet at once, and keep none.
  answer.header('x-accel-buffering', 'no');
  answer.header('cache-control', 'no-store');
  return answer;
}

/** The name of the file for a device: nothing that could end a header or leave a folder. */
export function captureFileName(device: string): string {
  const name = device.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '');
  return `${name === '' ? 'device' : name.slice(0, 100)}.pcapng`;
}

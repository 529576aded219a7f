// A stream of server-sent events as tests hear it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';

/** What a stream says, as it comes. */
export class Listener {
  text = '';
  readonly stream: Readable;
  hasEnded = false;

  constructor(stream: Readable) {
    this.stream = stream;
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => (this.text += chunk));
    stream.on('end', () => (this.hasEnded = true));
  }

  /** The data of the events of a name. */
  events(name: string): Record<string, unknown>[] {
    return [...this.text.matchAll(/^event: (\w+)\ndata: (.*)\n$/gm)]
      .filter(([, event]) => event === name)
      .map(([, , json = '']) => JSON.parse(json) as Record<string, unknown>);
  }

  get statuses(): Record<string, unknown>[] {
    return this.events('status');
  }

  /** The values that the page has by now. */
  get status(): Record<string, unknown> {
    return Object.assign({}, ...this.statuses);
  }

  async until(holds: () => boolean): Promise<void> {
    for (let waits = 0; !holds(); waits += 1) {
      if (waits > 200) throw new Error(`it did not happen: ${this.text}`);
      await sleep(25);
    }
  }
}

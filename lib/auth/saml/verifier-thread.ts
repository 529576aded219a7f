// The thread in which XML of others is read and its signatures are verified; verifier.ts starts it,
// gives it one task at a time, and ends it where it takes too long.

import { parentPort } from 'node:worker_threads';
import { ProviderRefusal, type RefusalReason } from '../identity/refusal.ts';
import { SamlMetadataError } from '../saml-metadata.ts';
import { loadNodeSaml } from './service-provider.ts';
import { type Verifications, verifications } from './verifications.ts';

/** A task for the thread. */
export interface Task {
  readonly name: keyof Verifications;
  readonly args: readonly unknown[];
}

/** The messages of the thread: that it is ready, then the result of each task. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly detail: string | null }
  | { readonly kind: 'metadata'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

async function work({ name, args }: Task): Promise<ThreadReport> {
  const verify = verifications[name] as (...given: readonly unknown[]) => Promise<unknown>;
  try {
    return { kind: 'done', result: await verify(...args) };
  } catch (error) {
    // Errors lose their class on the way to the other thread.
    if (error instanceof ProviderRefusal)
      return { kind: 'refused', reason: error.reason, detail: error.detail };
    if (error instanceof SamlMetadataError) return { kind: 'metadata', message: error.message };
    // The message of an unknown error may quote what strangers wrote.
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const place = stack.split('\n').find((line) => /^\s+at /.test(line)) ?? '';
    return { kind: 'failed', message: `${name} failed${place.replace(/^\s+/, ' ')}` };
  }
}

const port = parentPort;
if (port !== null) {
  await loadNodeSaml();
  port.on('message', (task: Task) => {
    void work(task).then((report) => port.postMessage(report));
  });
  port.postMessage({ kind: 'ready' } satisfies ThreadReport);
}

// Each test file has a process of its own, and V8 never compiles a wrapper for what WebAssembly calls.
// Such wrappers are shared by all threads of a process, and V8 13.6 frees them twice when a thread
// ends while another compiles ("Check failed: jit_page.has_value()", or a corrupted heap): four runs
// of four died so within a minute of threads that only strip types, which Node does in WebAssembly,
// and none of three with this budget. A test that starts many gateways has as many threads.
//
// The two cores are busy, so a collector with threads of its own gains nothing, and young objects get
// room to die in: both together save a twentieth of the CPU.
//
// Compiled code, and TypeScript without its types, is kept for the next process, and for the processes
// that a test starts: without it half of the seconds of most test files go into loading.
import { resolve } from 'node:path';
import process from 'node:process';

const CACHE = resolve(import.meta.dirname, '../../../node_modules/.cache/tests');

export const processes = {
  workerThreads: false,
  nodeArguments: [
    '--wasm-wrapper-tiering-budget=1000000000',
    '--single-threaded-gc',
    '--max-semi-space-size=32',
  ],
  require: ['./test/support/suite/seconds.ts'],
  environmentVariables: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? CACHE },
};

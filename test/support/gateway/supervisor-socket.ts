// A supervisor's socket for tests: Unix datagrams, which Node cannot receive, printed by python3 as
// they come, one JSON text a line.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const PROGRAM = `
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
path = sys.argv[1]
s.bind('\\0' + path[1:] if path[0] == '@' else path)
if path[0] != '@':
    # Whoever is started may report, whatever user it is, as with systemd's own socket.
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o777)
print(json.dumps(''), flush=True)
while True:
    print(json.dumps(s.recv(4096).decode()), flush=True)
`;

/** A socket, and the messages that came to it. */
export class SupervisorSocket {
  readonly path: string;
  readonly messages: string[] = [];
  readonly #folder: string;
  readonly #child: ChildProcess;
  #listens = false;

  /** At a path of its own, or under a name that begins with @. */
  constructor(name?: string) {
    this.#folder = mkdtempSync(join(tmpdir(), 'postern-notify-'));
    this.path = name ?? join(this.#folder, 'notify');
    this.#child = spawn('python3', ['-c', PROGRAM, this.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      if (this.#listens) this.messages.push(JSON.parse(line) as string);
      this.#listens = true;
    });
  }

  async ready(): Promise<this> {
    for (let i = 0; !this.#listens; i++) {
      if (i === 500) throw new Error('the receiver does not listen');
      await sleep(20);
    }
    return this;
  }

  /** Waits for a message; throws when none comes in time. */
  async message(holds: (message: string) => boolean, limitMs = 60_000): Promise<string> {
    const begun = performance.now();
    for (;;) {
      const found = this.messages.find((message) => holds(message));
      if (found !== undefined) return found;
      if (performance.now() - begun > limitMs)
        throw new Error(`no such message among ${JSON.stringify(this.messages)}`);
      await sleep(20);
    }
  }

  close(): void {
    this.#child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

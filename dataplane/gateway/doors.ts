// The ports of the gateway's own address at which this process listens, and who takes the
// connections that devices open to them.

import type { DoorConnection } from '../contract.ts';
import type { Descriptors } from '../host/descriptors.ts';
import type { Addon } from '../native/index.ts';

/** Takes a connection, and with it the descriptor. */
export type TakeConnection = (connection: DoorConnection) => void;

/** The doors of one gateway. */
export class Doors {
  readonly #addon: Pick<Addon, 'closeFd'> | null;
  readonly #changed: (ports: readonly number[]) => void;
  readonly #takers = new Map<number, TakeConnection>();

  constructor(
    { addon, engine }: Pick<Descriptors, 'addon' | 'engine'>,
    changed: (ports: readonly number[]) => void,
  ) {
    // The TypeScript engine has no pairs of sockets.
    this.#addon = engine === 'native' ? addon : null;
    this.#changed = changed;
  }

  /** The ports that are open. */
  get ports(): readonly number[] {
    return this.#addon === null ? [] : [...this.#takers.keys()];
  }

  /** Opens a port; returns what closes it. */
  open(port: number, take: TakeConnection): () => void {
    this.#takers.set(port, take);
    this.#changed(this.ports);
    return () => {
      if (this.#takers.get(port) !== take) return;
      this.#takers.delete(port);
      this.#changed(this.ports);
    };
  }

  /** Gives a connection to whoever takes it; the device of another one finds it closed. */
  arrived(connection: DoorConnection): void {
    const take = this.#takers.get(connection.port);
    if (take === undefined) this.#addon?.closeFd(connection.descriptor);
    else take(connection);
  }
}

// Whose a public key was until lately: of a device that has another key by now, or of one that was
// deleted. Its last bytes and flows are still counted and shown for that device.

/** The most keys that are kept of either kind. */
const FORMER_KEYS_MAX = 1_000;

/** A device that was deleted, and whose it was. */
export interface DeletedDevice {
  readonly id: string;
  readonly ownerId: string;
}

/** The keys of one gateway. */
export class FormerKeys {
  readonly #replaced = new Map<string, string>();
  readonly #deleted = new Map<string, DeletedDevice>();

  /** Notes that a device has another key by now. */
  noteReplaced(publicKey: string, deviceId: string): void {
    keep(this.#replaced, publicKey, deviceId);
  }

  /** Notes that the device with a key was deleted. */
  noteDeleted(publicKey: string, device: DeletedDevice): void {
    keep(this.#deleted, publicKey, device);
  }

  /** The device that has another key by now; null if there is none. */
  formerDeviceOf(publicKey: string): string | null {
    return this.#replaced.get(publicKey) ?? null;
  }

  /** The deleted device that had a key; null if there is none. */
  deletedDeviceOf(publicKey: string): DeletedDevice | null {
    return this.#deleted.get(publicKey) ?? null;
  }

  /** The keys of a deleted device. */
  keysOfDeleted(deviceId: string): string[] {
    return [...this.#deleted].flatMap(([publicKey, { id }]) =>
      id === deviceId ? [publicKey] : [],
    );
  }
}

/** Keeps whose a key was, as long as not too many came after it. */
function keep<Kept>(keys: Map<string, Kept>, publicKey: string, kept: Kept): void {
  keys.set(publicKey, kept);
  if (keys.size <= FORMER_KEYS_MAX) return;
  const [oldest = ''] = keys.keys();
  keys.delete(oldest);
}

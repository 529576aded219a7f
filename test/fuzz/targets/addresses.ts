// Texts that name addresses: what the data plane reads of one, it writes in the one canonical form,
// and that is read as the same bytes again.

import { strict as assert } from 'node:assert';
import { isIP } from 'node:net';
import { formatAddress, parseAddress } from '../../../dataplane/wire/address.ts';

/** Takes any text for an address, and any 4 or 16 bytes for one as well. */
export function addresses(input: Uint8Array): void {
  const text = Buffer.from(input).toString('latin1');
  const bytes = parseAddress(text);
  assert.equal(bytes !== null, isIP(text) !== 0 && !text.includes('%'), text);
  if (bytes !== null) assert.deepEqual(parseAddress(formatAddress(bytes)), bytes);
  for (const length of [4, 16]) {
    const made = input.slice(0, length);
    if (made.length === length) assert.deepEqual(parseAddress(formatAddress(made)), made);
  }
}

// The checksum of IP, TCP, UDP and ICMP.

/**
 * The checksum of RFC 1071 over an even or odd number of bytes, starting with `sum`. It reads words
 * of 32 bits and adds their halves: the total of a packet is a small integer and needs no memory.
 */
export function checksum(view: DataView, offset: number, length: number, sum: number): number {
  let total = sum;
  const whole = offset + (length & ~3);
  for (let at = offset; at < whole; at += 4) {
    const word = view.getInt32(at);
    total += (word >>> 16) + (word & 0xffff);
  }
  if ((length & 2) !== 0) total += view.getUint16(whole);
  if ((length & 1) === 1) total += view.getUint8(offset + length - 1) << 8;
  while (total > 0xffff) total = (total & 0xffff) + (total >>> 16);
  return ~total & 0xffff;
}

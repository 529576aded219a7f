// The checksum of IP, TCP, UDP and ICMP.

/**
 * The checksum of RFC 1071 over an even or odd number of bytes, starting with `sum`. It adds words
 * of 32 bits, which changes nothing: 2^16 is 1 modulo 2^16 - 1 (RFC 1071, 2 C).
 */
export function checksum(view: DataView, offset: number, length: number, sum: number): number {
  let total = sum;
  const whole = offset + (length & ~3);
  for (let at = offset; at < whole; at += 4) total += view.getUint32(at);
  if ((length & 2) !== 0) total += view.getUint16(whole);
  if ((length & 1) === 1) total += view.getUint8(offset + length - 1) << 8;
  while (total > 0xffff) total = (total & 0xffff) + Math.floor(total / 0x1_0000);
  return ~total & 0xffff;
}

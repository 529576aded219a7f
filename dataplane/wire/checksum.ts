// The checksum of IP, TCP, UDP and ICMP.

/** The checksum of RFC 1071 over an even or odd number of bytes, starting with `sum`. */
export function checksum(view: DataView, offset: number, length: number, sum: number): number {
  let total = sum;
  for (let i = 0; i + 1 < length; i += 2) total += view.getUint16(offset + i);
  if ((length & 1) === 1) total += view.getUint8(offset + length - 1) << 8;
  while (total > 0xffff) total = (total & 0xffff) + (total >>> 16);
  return ~total & 0xffff;
}

// Whether this Node can run Postern. Plain JavaScript of long ago: an older Node must read it, too,
// and meets a SyntaxError or an unknown file ending in everything else.

import process from 'node:process';

const WANTED = [24, 12];

/** A sentence for a Node that is too old; null for one that will do. */
export function oldNodeFault(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  if (major > WANTED[0] || (major === WANTED[0] && minor >= WANTED[1])) return null;
  return `Postern needs Node ${WANTED.join('.')} or newer; this is Node ${version} (${process.execPath}).`;
}

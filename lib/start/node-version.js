// Whether this Node can run Postern. Plain JavaScript of long ago: an older Node must read it, too,
// and meets a SyntaxError or an unknown file ending in everything else.

import process from 'node:process';

const WANTED = [24, 19];
/** Older ones can lose a commit, or trust a file of another program too much. */
const WANTED_SQLITE = [3, 53, 3];

/** A sentence for a Node that is too old; null for one that will do. */
export function oldNodeError(version = process.versions.node, sqlite = process.versions.sqlite) {
  const is = `this is Node ${version} (${process.execPath})`;
  if (isOlder(version, WANTED)) return `Postern needs Node ${WANTED.join('.')} or newer; ${is}.`;
  if (!isOlder(sqlite || '0', WANTED_SQLITE)) return null;
  const wanted = `a Node with SQLite ${WANTED_SQLITE.join('.')} or newer`;
  return `Postern needs ${wanted}; ${is} with ${sqlite ? `SQLite ${sqlite}` : 'none'}.`;
}

function isOlder(version, wanted) {
  const parts = version.split('.').map(Number);
  for (let i = 0; i < wanted.length; i += 1) {
    if (parts[i] > wanted[i]) return false;
    if (!(parts[i] >= wanted[i])) return true;
  }
  return false;
}

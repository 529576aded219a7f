// Places in a stack, by the files that people read. In the bundle (tools/bundle.ts) the code of
// many sources is in one file; its source map is read when a stack is logged, and not kept.

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Places that are remembered: an error that comes again reads no map again. */
const PLACES_MAX = 500;

const places = new Map<string, string>();

/** A stack with the places of sources, where a map beside the code has them. */
export function sourceFrames(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replaceAll(/file:\/\/[^\s()]+\.js:\d+:\d+/g, (place) => {
    const known = places.get(place);
    if (known !== undefined) return known;
    const found = sourceOf(place, maps) ?? place;
    if (places.size >= PLACES_MAX) places.clear();
    places.set(place, found);
    return found;
  });
}

/** `lib/start/server.ts:12:3` of a place in the bundle; null where it has no source. */
function sourceOf(place: string, maps: Map<string, SourceMap | null>): string | null {
  const [, url = '', line = '', column = ''] = /^(.*):(\d+):(\d+)$/.exec(place) ?? [];
  const path = fileURLToPath(url);
  const map = maps.get(path) ?? mapOf(path);
  maps.set(path, map);
  const entry = map?.findEntry(Number(line) - 1, Number(column) - 1);
  if (entry === undefined || !('originalSource' in entry)) return null;
  return `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

function mapOf(path: string): SourceMap | null {
  const file = `${path}.map`;
  if (!existsSync(file)) return null;
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload);
  } catch {
    // A stack without its sources says more than none.
    return null;
  }
}

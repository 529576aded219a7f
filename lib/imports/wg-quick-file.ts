// Reads a server's wg-quick file: an [Interface] and its [Peer]s, with the comments that name them.
// Pure. What the settings mean to Postern is in wg-quick.ts.

/** One `Key = value`. */
export interface Setting {
  /** In lower case. */
  readonly key: string;
  /** As it is written in the file. */
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

/** A section of the file. */
export interface Section {
  readonly kind: 'interface' | 'peer';
  readonly line: number;
  /** What a comment calls it; null where none does. */
  readonly title: string | null;
  readonly settings: readonly Setting[];
}

/** The sections in their order, and lines that are neither sections nor settings. */
export interface WgQuickFile {
  readonly sections: readonly Section[];
  readonly faults: readonly string[];
}

interface OpenSection {
  kind: Section['kind'];
  line: number;
  title: string | null;
  settings: Setting[];
}

/** Reads the text of a file. */
export function parseWgQuick(text: string): WgQuickFile {
  const sections: OpenSection[] = [];
  const faults: string[] = [];
  /** What the comments since the last setting say, the latest last. */
  let titles: string[] = [];
  for (const [index, whole] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    const [, content = '', comment] = /^([^#]*)(?:#(.*))?$/.exec(whole) ?? [];
    const title = comment === undefined ? null : titleOf(comment);
    const bare = content.trim();
    const section = sections.at(-1);
    if (bare === '') {
      if (title !== null) titles.push(title);
      continue;
    }
    const header = /^\[(interface|peer)\]$/i.exec(bare);
    const setting = /^([a-z0-9]+)\s*=\s*(.*)$/i.exec(bare);
    if (header !== null) {
      const kind = header[1]?.toLowerCase() as Section['kind'];
      sections.push({ kind, line, title: title ?? titles.at(-1) ?? null, settings: [] });
    } else if (setting !== null && section !== undefined) {
      const [, name = '', value = ''] = setting;
      section.settings.push({ key: name.toLowerCase(), name, value, line });
      section.title ??= titles[0] ?? title;
    } else faults.push(`line ${line} is neither a section nor a setting of one`);
    titles = [];
  }
  return { sections, faults };
}

/** Words that programs put before a name, and after it. */
const BEFORE = /^(?:begin[_ ]?peer|friendly_name|client|peer|name|user)\b\s*[:=]?\s*/i;
const AFTER = /\s*\([0-9a-f-]{8,}\)\s*$/i;

/** The name in a comment; null for rulers, ends of blocks and settings that are switched off. */
function titleOf(comment: string): string | null {
  const text = comment.replaceAll(/^[#\s-]+|[#\s-]+$/g, '');
  if (/^end\b|^end_/i.test(text)) return null;
  const title = text.replace(BEFORE, '').replace(AFTER, '').trim();
  return title === '' || /^\w+\s*=/.test(title) ? null : title;
}

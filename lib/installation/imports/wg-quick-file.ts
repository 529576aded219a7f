// Reads a server's wg-quick file: an [Interface] and its [Peer]s, with the comments that name them
// (peer-names.ts). Pure. wg-quick.ts says what the settings mean to Postern.

import { type Comment, type FileMarks, marksOf, nameOf, type Surroundings } from './peer-names.ts';

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
  /** The name that a comment gives it; null: no comment does. */
  readonly title: string | null;
  readonly settings: readonly Setting[];
}

/** A peer whose lines are comments: it is switched off. */
export interface DisabledPeer {
  readonly line: number;
  readonly title: string | null;
}

/** The sections in their order, and lines that are neither sections nor settings. */
export interface WgQuickFile {
  readonly sections: readonly Section[];
  readonly disabled: readonly DisabledPeer[];
  readonly errors: readonly string[];
}

type OpenSurroundings = { -readonly [Name in keyof Surroundings]: Surroundings[Name] } & {
  within: Comment[];
  trailing: Comment[];
};

interface OpenSection {
  kind: Section['kind'];
  line: number;
  settings: Setting[];
  around: OpenSurroundings;
}

const HEADER = /^\[(interface|peer)\]$/i;
const SETTING = /^([a-z0-9]+)\s*=\s*(.*)$/i;
/** Settings that no two peers share: a comment behind such a setting is about its peer. */
const OWN_SETTINGS = new Set(['publickey', 'allowedips']);

/** Only the beginning of a comment is read: a longer text is no name. */
const COMMENT_CHARACTERS_MAX = 1_000;

/** Reads the text of a file. */
export function parseWgQuick(text: string): WgQuickFile {
  const reader = new Reader();
  for (const [index, whole] of text.split(/\r?\n/).entries()) reader.read(whole, index + 1);
  return reader.end();
}

class Reader {
  readonly #sections: OpenSection[] = [];
  readonly #disabled: { around: OpenSurroundings; hasSettings: boolean }[] = [];
  readonly #errors: string[] = [];
  readonly #texts: string[] = [];
  /** The comments since the last setting. */
  #pending: Comment[] = [];
  /** Whether the comments belong to a peer that is switched off. */
  #isInDisabled = false;

  read(whole: string, line: number): void {
    const [, content = '', comment] = /^([^#]*)(#.*)?$/s.exec(whole) ?? [];
    const bare = content.trim();
    const said =
      comment === undefined ? null : { line, text: comment.slice(0, COMMENT_CHARACTERS_MAX) };
    if (said !== null) this.#texts.push(withoutMark(said.text));
    if (bare === '') {
      if (said === null) return;
      this.#comment(said);
      return;
    }
    this.#isInDisabled = false;
    this.#active(bare, line, said);
    this.#pending = [];
  }

  end(): WgQuickFile {
    const marks = marksOf(this.#texts);
    return {
      sections: this.#sections.map(({ kind, line, settings, around }) => ({
        kind,
        line,
        title: titleOf(kind, around, marks),
        settings,
      })),
      disabled: this.#disabled.map(({ around }) => ({
        line: around.line,
        title: nameOf(around, marks),
      })),
      errors: this.#errors,
    };
  }

  /** A line that is more than a comment. */
  #active(bare: string, line: number, comment: Comment | null): void {
    const section = this.#sections.at(-1);
    const header = HEADER.exec(bare);
    const setting = SETTING.exec(bare);
    if (header !== null) {
      const kind = header[1]?.toLowerCase() as Section['kind'];
      const around = { before: this.#pending, beside: comment, within: [], trailing: [], line };
      this.#sections.push({ kind, line, settings: [], around });
    } else if (setting !== null && section !== undefined) {
      const [, name = '', value = ''] = setting;
      const key = name.toLowerCase();
      section.settings.push({ key, name, value: value.trim(), line });
      section.around.within.push(...this.#pending);
      if (comment !== null && OWN_SETTINGS.has(key)) section.around.trailing.push(comment);
    } else this.#errors.push(`line ${line} is neither a section nor a setting in a section`);
  }

  /**
   * A line that is a comment. It belongs to a peer that is switched off, or is about the next
   * lines.
   */
  #comment({ line, text: whole }: Comment): void {
    const off = withoutMark(whole);
    const inner = off.replace(/^#+/, '').trim();
    if (/^\[peer\]$/i.test(inner)) {
      const around = { before: this.#pending, beside: null, within: [], trailing: [], line };
      this.#disabled.push({ around, hasSettings: false });
      this.#pending = [];
      this.#isInDisabled = true;
      return;
    }
    const current = this.#isInDisabled ? this.#disabled.at(-1) : undefined;
    const comment = { line, text: off };
    if (current === undefined) this.#pending.push(comment);
    else if (/^(?:publickey|presharedkey|allowedips|endpoint|persistentkeepalive)\s*=/i.test(inner))
      current.hasSettings = true;
    else if (current.hasSettings) {
      this.#isInDisabled = false;
      this.#pending.push(comment);
    } else current.around.within.push(comment);
  }
}

/**
 * Removes PiVPN's mark of a line that is switched off; such a line may also be a comment itself.
 */
function withoutMark(comment: string): string {
  const rest = /^#\s*\[disabled\]\s*(.*)$/i.exec(comment)?.[1];
  if (rest === undefined) return comment;
  return rest.startsWith('#') ? rest : `#${rest}`;
}

function titleOf(kind: Section['kind'], around: Surroundings, marks: FileMarks): string | null {
  return kind === 'peer' ? nameOf(around, marks) : null;
}

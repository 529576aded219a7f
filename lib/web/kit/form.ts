// A form, described once: how its fields are shown, what was typed into them, and which values go
// to the rules of the API. Typed values stay text until those rules read them, so that a form with
// errors shows exactly what a person typed.

import type { Request } from '@hapi/hapi';
import type { FieldErrors } from '../../kit/validation/validate.ts';
import { measureText, readMeasure } from '../../kit/validation/units.ts';
import { textOf } from './form-token.ts';
import { timeBy, typedTime } from './typed-time.ts';
import { type FormError, type FormErrors, isFormError, plainWords } from './plain-words.ts';

/** One question. */
export interface Asked {
  /** The name of the field in the API. */
  readonly name: string;
  readonly label: string;
  /** The word between the field and the one before it, where a line of fields is a sentence. */
  readonly joint?: string;
  /**
   * `list`: members with commas or line ends between. `secret`: never shown again. `time`: in UTC
   * for the gateway, and in the zone of the reader where scripts run. `speed` (bits per second) and
   * `amount` (bytes): a number with a unit.
   */
  readonly kind?:
    | 'text'
    | 'email'
    | 'number'
    | 'speed'
    | 'amount'
    | 'area'
    | 'list'
    | 'box'
    | 'choice'
    | 'secret'
    | 'time';
  readonly help?: string;
  readonly isRequired?: boolean;
  /** Values and labels of a choice. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Lines of an area. */
  readonly rows?: number;
  readonly autocomplete?: string;
  readonly placeholder?: string;
  /** Where scripts ask what may stand in the field, by what was typed. */
  readonly combobox?: string;
}

/** Questions that belong together. */
export interface Section {
  readonly legend?: string;
  /** The fields are side by side. */
  readonly isLine?: boolean;
  /**
   * The label behind which the section is folded away, while each of its fields has its usual text
   * (empty, where none is named) and no error. Sections in a row with the same label are folded
   * away together.
   */
  readonly folds?: { readonly label: string; readonly usual: Typed };
  readonly help?: string;
  readonly fields: readonly Asked[];
}

/** The texts in the fields, by name; a box is `true` if it is ticked, else `false`. */
export type Typed = Readonly<Record<string, string>>;

/** A record that an error is about. */
export interface ErrorLink {
  readonly href: string;
  readonly text: string;
}

/** How a form is shown. */
export interface FormOptions {
  readonly action: string;
  /** Label of its button. */
  readonly submit: string;
  /** The page to which Cancel leads. */
  readonly cancel?: string;
  readonly errors?: FormErrors;
  /** The records that the errors of a field are about, by the name of the field. */
  readonly links?: Readonly<Record<string, readonly ErrorLink[]>>;
  /** Why a field cannot be changed; null where it can. */
  readonly locked?: (name: string) => string | null;
  /** What the form says of the values of its record (seen.ts); left out for a new record. */
  readonly seen?: string;
  /** What an empty field means, by name, in place of its placeholder. */
  readonly inherited?: Readonly<Record<string, string>>;
}

/** What a request typed. */
export function typedIn(request: Pick<Request, 'payload'>, sections: readonly Section[]): Typed {
  return typedBy((name) => textOf(request, name), sections);
}

/** What was typed, as a function reads it by the name of a field. */
export function typedBy(read: (name: string) => string, sections: readonly Section[]): Typed {
  return eachField(sections, ({ name, kind }) =>
    kind === 'box'
      ? String(read(name) === 'true')
      : kind === 'time'
        ? timeBy(read, name)
        : read(name),
  );
}

/** The texts in the fields of a form about a record, before anything is typed. */
export function typedFrom(record: object, sections: readonly Section[]): Typed {
  return eachField(sections, ({ name, kind }) =>
    kind === 'secret' ? '' : textOfValue((record as Record<string, unknown>)[name], kind),
  );
}

/** The fields of a request to the API; those that are locked are left out. */
export function inputOf(
  typed: Typed,
  sections: readonly Section[],
  locked: (name: string) => string | null = () => null,
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const { name, kind } of fieldsOf(sections)) {
    if (locked(name) !== null) continue;
    const text = typed[name] ?? '';
    input[name] = valueOf(text, kind);
  }
  return input;
}

function valueOf(text: string, kind: Asked['kind']): unknown {
  if (kind === 'box') return text === 'true';
  if (kind === 'list') return membersOf(text);
  if (kind === 'speed' || kind === 'amount') return plainNumber(text, kind);
  return kind === 'time' && text.trim() !== '' ? `${text.trim()}Z` : text;
}

/** The number that a text with a unit means, as the API takes it; a text that means none stays. */
export function plainNumber(text: string, measure: 'speed' | 'amount'): string {
  const read = readMeasure(text, measure);
  return 'value' in read ? String(read.value) : text;
}

/** Whether a form was sent with secrets, which are not shown again. */
export function forgetsSecrets(sections: readonly Section[], typed: Typed): boolean {
  return fieldsOf(sections).some(
    ({ name, kind }) => kind === 'secret' && (typed[name] ?? '') !== '',
  );
}

/** What partials/form.eta shows. */
export function formView(sections: readonly Section[], typed: Typed, options: FormOptions): object {
  const { action, submit, cancel, seen, errors = {}, links = {} } = options;
  const { inherited = {} } = options;
  const { locked = () => null } = options;
  const names = new Set(fieldsOf(sections).map(({ name }) => name));
  const elsewhere = Object.keys(errors).filter((name) => !names.has(name));
  return {
    action,
    submit,
    cancel: cancel ?? null,
    seen: seen ?? null,
    hasErrors: Object.keys(errors).length > 0,
    forgetsSecrets: forgetsSecrets(sections, typed),
    // An error of a field that this form does not have must be shown too.
    base: elsewhere.flatMap((name) =>
      textsOf(errors[name]).map((text) => (name === 'base' ? text : `${name}: ${text}`)),
    ),
    sections: foldedTogether(
      sections.map(({ legend = null, help: sectionHelp = null, folds, ...section }) => ({
        legend,
        help: sectionHelp,
        isLine: section.isLine === true,
        folds: folds?.label ?? null,
        isOpen: section.fields.some(
          ({ name }) =>
            errors[name] !== undefined || (typed[name] ?? '') !== (folds?.usual[name] ?? ''),
        ),
        fields: section.fields.map((asked) => ({
          ...fieldView(
            asked,
            typed[asked.name] ?? '',
            textsOf(errors[asked.name]),
            locked(asked.name),
          ),
          placeholder: inherited[asked.name] ?? asked.placeholder ?? null,
          combobox: asked.combobox ?? null,
          joint: asked.joint ?? null,
          links: links[asked.name] ?? [],
        })),
      })),
    ),
  };
}

/** Marks where sections with one label begin and end; one that is open opens all of them. */
function foldedTogether<Shown extends { readonly folds: string | null; readonly isOpen: boolean }>(
  sections: readonly Shown[],
): object[] {
  return sections.map((section, i) => {
    const { folds } = section;
    const others = sections.filter((one) => one.folds === folds);
    return {
      ...section,
      isOpen: folds === null ? section.isOpen : others.some(({ isOpen }) => isOpen),
      beginsFold: folds !== null && sections[i - 1]?.folds !== folds,
      endsFold: folds !== null && sections[i + 1]?.folds !== folds,
    };
  });
}

/** A value as people type it. */
export function textOfValue(value: unknown, kind?: Asked['kind']): string {
  if (Array.isArray(value)) return value.join(', ');
  if (kind === 'box') return String(value === true);
  if (kind === 'time' && typeof value === 'string') return typedTime(value);
  if ((kind === 'speed' || kind === 'amount') && typeof value === 'number')
    return measureText(value, kind);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The members of a text with commas, semicolons, spaces or line ends between. */
export function membersOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((member) => member !== '');
}

function fieldView(asked: Asked, text: string, errors: string[], locked: string | null): object {
  const { name, label, kind = 'text', isRequired = false, help = null } = asked;
  const common = { name, label, help, errors, locked, required: isRequired && locked === null };
  // The page around may have values of these names; they must not reach the field.
  const none = { type: 'text', choices: null, rows: null, checked: false };
  const rest = {
    autocomplete: asked.autocomplete ?? 'off',
    value: text,
  };
  switch (kind) {
    case 'box':
      return { ...common, ...none, type: 'checkbox', value: 'true', checked: text === 'true' };
    case 'choice':
      return { ...common, ...none, value: text, choices: asked.choices ?? [] };
    case 'area':
      return { ...common, ...none, ...rest, rows: asked.rows ?? 4, spellcheck: 'false' };
    case 'secret':
      return { ...common, ...none, ...rest, type: 'password', value: '' };
    case 'time':
      return { ...common, ...none, ...rest, type: 'datetime-local', step: 'any' };
    case 'number':
      return { ...common, ...none, ...rest, inputmode: 'numeric' };
    case 'email':
      // A field of text, because browsers check addresses in another way than we do.
      return { ...common, ...none, ...rest, inputmode: 'email', autocapitalize: 'none' };
    case 'speed':
    case 'amount':
    case 'text':
    case 'list':
      return { ...common, ...none, ...rest, autocapitalize: 'none', spellcheck: 'false' };
  }
}

/** The messages of a field; for a list of records, those of all records. */
function textsOf(errors: FieldErrors<FormError> = []): string[] {
  return errors.flatMap((error) =>
    isFormError(error)
      ? [plainWords(error)]
      : Object.entries(error).map(
          ([name, texts]) => `${name}: ${texts.map(plainWords).join('; ')}`,
        ),
  );
}

function fieldsOf(sections: readonly Section[]): Asked[] {
  return sections.flatMap(({ fields }) => fields);
}

function eachField(sections: readonly Section[], read: (asked: Asked) => string): Typed {
  return Object.fromEntries(fieldsOf(sections).map((asked) => [asked.name, read(asked)]));
}

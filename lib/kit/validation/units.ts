// Speeds and amounts as people write them: `50 Mbit/s`, `1,5 GB`. Units are decimal. What could be
// meant in two ways is refused, with what to write instead. The API takes plain numbers alone.

/** What is measured. */
export type Measure = 'speed' | 'amount';

/** What a text says: a whole number of bits per second or of bytes, or why it says none. */
export type Reading = { readonly value: number } | { readonly error: string };

const SIZES = [1, 1e3, 1e6, 1e9, 1e12] as const;
const SPEEDS = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'] as const;
const AMOUNTS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;
const UNITS: Readonly<Record<Measure, readonly string[]>> = { speed: SPEEDS, amount: AMOUNTS };
/** A unit that a text without one could mean. */
const USUAL: Readonly<Record<Measure, string>> = { speed: 'Mbit/s', amount: 'GB' };
const EXAMPLE: Readonly<Record<Measure, string>> = { speed: '50 Mbit/s', amount: '100 GB' };

/** A greater number would be very much of that unit. */
const MEANT_MAX = 10_000;

// Spaces are taken in one place alone, or a text of many would take seconds.
const TEXT = /^(\d+(?:[.,]\d+)?)\s*((?:[a-z/][a-z/ ]*)?)$/i;
const PREFIXES = 'kmgt';

/** Reads a text; a number without a unit is of bits per second, or of bytes. */
export function readMeasure(text: string, measure: Measure): Reading {
  const [, figures = '', unit = ''] = TEXT.exec(text.trim()) ?? [];
  if (figures === '')
    return { error: `not a number with a unit. Write it like ${EXAMPLE[measure]}` };
  const number = Number(figures.replace(',', '.'));
  if (/^[1-9]\d{0,2},\d{3}$/.test(figures))
    return {
      error: `not clear: the comma may part thousands. Write ${figures.replace(',', '')} or ${number} instead of ${figures}`,
    };
  const size = unit === '' ? 1 : sizeOf(unit, measure);
  if (size === null) return { error: otherUnit(number, unit, measure) };
  // 1.1 × 1000 is not 1100 in binary fractions.
  const value = Math.round(number * size);
  if (value > Number.MAX_SAFE_INTEGER) return { error: 'too much' };
  if (Math.abs(value - number * size) > 1e-6 * Math.max(1, value))
    return { error: `not a whole number of ${measure === 'speed' ? 'bits per second' : 'bytes'}` };
  return { value };
}

/** A value as people write it; it is exact, and read as the same value. */
export function measureText(value: number, measure: Measure): string {
  for (let i = SIZES.length - 1; i > 0; i -= 1) {
    const size = SIZES[i] ?? 1;
    const text = String(value / size);
    if (value >= size && /^\d+(\.\d{1,9})?$/.test(text)) return `${text} ${UNITS[measure][i]}`;
  }
  return String(value);
}

const ROUNDED = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A number of bytes, rounded: `1.4 MB`; a thousand makes the next unit. */
export function bytesInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.95 would round to 1000.0 of its unit.
  while (value >= (unit === 0 ? 1_000 : 999.95) && unit < ROUNDED.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${ROUNDED[unit]}`;
}

/** The text that a number without a unit probably means, where it is below the least; else null. */
export function probablyMeant(text: string, least: number, measure: Measure): string | null {
  const figures = text.trim();
  if (!/^[1-9]\d*$/.test(figures) || Number(figures) >= Math.min(least, MEANT_MAX)) return null;
  return `${figures} ${USUAL[measure]}`;
}

function sizeOf(unit: string, measure: Measure): number | null {
  const known = UNITS[measure].findIndex((one) => one.toLowerCase() === unit.toLowerCase());
  // kB and KB, but never kb: a small b is a bit.
  const isBits = measure === 'amount' && unit.endsWith('b');
  if (known !== -1 && !isBits) return SIZES[known] ?? null;
  const [, prefix = ''] = (measure === 'speed' && /^([kmgt]?)bps$/i.exec(unit)) || [];
  if (measure !== 'speed' || !/^[kmgt]?bps$/i.test(unit) || unit.includes('B')) return null;
  return SIZES[PREFIXES.indexOf(prefix.toLowerCase() || '?') + 1] ?? null;
}

/** What is wrong with a unit, with the same in a unit that is taken. */
function otherUnit(number: number, unit: string, measure: Measure): string {
  const [, prefix = '', binary = '', rest = ''] =
    /^([kmgt]?)(i?)(bits?\/s|bits|bit|bps|b\/s|b|)$/i.exec(
      unit.replace(/ per s(?:ec(?:ond)?)?$/i, '/s'),
    ) ?? [];
  const list = UNITS[measure].slice(1).join(', ');
  if (prefix + rest === '') return `in a unit that is not known. Units are ${list}`;
  const times =
    prefix === ''
      ? 1
      : (binary === '' ? 1_000 : 1_024) ** (PREFIXES.indexOf(prefix.toLowerCase()) + 1);
  if (rest === '')
    return `in a unit that is not known. Did you mean ${measureText(number * times, measure)}?`;
  const isBytes = rest.startsWith('B') && !/^bit/i.test(rest);
  const isSpeed = /\/s$|bps$/i.test(rest);
  if (isSpeed && measure === 'amount')
    return `a speed, and not an amount. Write it like ${EXAMPLE.amount}`;
  if (!isSpeed && measure === 'speed') {
    const advice = `Did you mean ${measureText(number * times, 'speed')}?`;
    return `an amount, and not a speed. ${isBytes ? `Write it like ${EXAMPLE.speed}` : advice}`;
  }
  const factor = measure === 'speed' ? (isBytes ? 8 : 1) : isBytes ? 1 : 1 / 8;
  const value = Math.round(number * times * factor);
  return `in a unit that is not taken here. It is the same as ${measureText(value, measure)}`;
}

// Lets a time be typed in the zone of the reader, whose name is then beside the label. The form
// sends the offset of the zone at that time; the gateway keeps UTC. A local time that does not
// exist, because clocks go forward then, is refused.

import { phrase } from './texts.js';

const MINUTE_MS = 60_000;
/** Ends that people want often, in days; null: none. */
const ENDS = [
  ['time.day', 1],
  ['time.week', 7],
  ['time.month', 30],
  ['time.never', null],
];

/** Turns the field that a note with the zone belongs to into one of the reader's zone. */
export function askInOwnZone(note) {
  const field = document.getElementById(note.dataset.zone);
  if (field === null || field.disabled) return;
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  note.textContent = `(${timeZone})`;
  const utc = new Date(`${field.value}Z`);
  if (!Number.isNaN(utc.getTime())) field.value = localText(utc);
  const judge = () =>
    field.setCustomValidity(
      field.value !== '' && offsetOf(field.value) === 'none' ? phrase('time.no_such') : '',
    );
  field.addEventListener('input', judge);
  field.form.addEventListener('formdata', ({ formData }) => {
    if (field.value !== '') formData.set(`${field.name}_offset`, offsetOf(field.value));
  });
  if (/end|expire/.test(field.name)) offerEnds(field, judge);
}

/** Buttons for ends that people want often, behind the field. */
function offerEnds(field, judge) {
  const chips = document.createElement('span');
  chips.className = 'spans';
  for (const [label, days] of ENDS) {
    const chip = document.createElement('button');
    chip.type = 'button';
    chip.className = 'quiet small';
    chip.textContent = phrase(label);
    chip.addEventListener('click', () => {
      const end = new Date();
      end.setDate(end.getDate() + (days ?? 0));
      end.setSeconds(0, 0);
      field.value = days === null ? '' : localText(end);
      judge();
    });
    chips.append(chip);
  }
  field.after(chips);
}

/** The minutes that lead from a local time to UTC; `none` where the zone has no such time. */
function offsetOf(text) {
  const local = new Date(text);
  const asked = new Date(`${text}Z`);
  const offset = local.getTimezoneOffset();
  const isThere = local.getTime() - offset * MINUTE_MS === asked.getTime();
  return isThere ? String(offset) : 'none';
}

/** A time in the reader's zone as browsers write it, without parts that are zero. */
function localText(time) {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * MINUTE_MS);
  return local
    .toISOString()
    .replace('Z', '')
    .replace(/(:00)?\.000$/, '');
}

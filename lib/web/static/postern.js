// What every page does in the browser if scripts run: questions become dialogs, times are shown in
// the reader's own time zone, texts are copied at a click. Pages work without it.

import { phrase } from './texts.js';
import { askInOwnZone } from './typed-times.js';

/** Up to when a time is shown as seconds, minutes, hours or days ago; later the date is enough. */
const AWAY = [
  [60, 1, 'second'],
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [30 * 86_400, 86_400, 'day'],
];
const MINUTE_MS = 60_000;

enliven(document);
// What is wrong is in view at once; fields with an error are marked where they are.
document.querySelector('main [aria-invalid=true]')?.focus();
// A line that is cut at its end is its own title.
document.addEventListener('pointerover', ({ target }) => {
  if (target.matches('.below') && target.scrollWidth > target.clientWidth)
    target.title = target.textContent;
});
setInterval(() => {
  for (const away of document.querySelectorAll('time[datetime] > .away'))
    showAway(away, new Date(away.parentElement.dateTime));
  for (const time of document.querySelectorAll('time[data-ago]'))
    showAgo(time, new Date(time.dateTime));
}, MINUTE_MS);

/** Prepares a part of the page, also a part that a script put there. */
export function enliven(part) {
  for (const question of part.querySelectorAll('details[data-confirm]')) makeDialog(question);
  for (const time of part.querySelectorAll('time[datetime]')) showInOwnZone(time);
  for (const button of part.querySelectorAll('button[data-copy]')) copyAtClick(button);
  for (const box of part.querySelectorAll('[data-select-all]')) selectAll(box);
  for (const note of part.querySelectorAll('[data-zone]')) askInOwnZone(note);
  const menu = part.querySelector('#menu');
  if (menu !== null) openBesideRows(menu);
}

/** One menu serves all rows: it is opened beside one, and does what it says to that record. */
function openBesideRows(menu) {
  // The server showed it in a row, as it does without scripts.
  if (menu.popover === null) return;
  const chosen = document.querySelector('#row [name=id]');
  const items = [...menu.children];
  const paths = items.map((item) => item.getAttribute('href'));
  for (const button of document.querySelectorAll('button.more')) {
    button.type = 'button';
    button.popoverTargetElement = menu;
    // It runs before the browser opens the menu, or closes it.
    button.addEventListener('click', () => {
      if (chosen.value !== button.value && menu.matches(':popover-open')) menu.hidePopover();
      chosen.value = button.value;
      for (const [i, item] of items.entries()) {
        if (paths[i] !== null) item.href = paths[i].replace('*', button.value);
        const kind = button.dataset.kind ?? 'on';
        item.hidden = (item.dataset.only ?? kind) !== kind;
      }
    });
  }
}

/** A box in the head of a table ticks the boxes of all its rows. */
function selectAll(box) {
  const boxes = [...box.form.querySelectorAll('input[name=id]')];
  const bar = box.form.querySelector('[data-selected]');
  const every = bar.querySelector('input[name=all]');
  const show = () => {
    const ticked = boxes.filter(({ checked }) => checked).length;
    box.checked = ticked === boxes.length;
    box.indeterminate = ticked > 0 && !box.checked;
    bar.hidden = ticked === 0;
    // A box that nobody sees must not be ticked.
    if (bar.hidden && every !== null) every.checked = false;
    bar.querySelector('[data-count]').textContent = phrase('list.selected', { count: ticked });
  };
  box.hidden = false;
  bar.querySelector('[type=reset]').hidden = false;
  box.addEventListener('change', () => {
    for (const one of boxes) one.checked = box.checked;
    show();
  });
  for (const one of boxes) one.addEventListener('change', show);
  // Enter would send the form, and the boxes would be empty afterwards.
  box.form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.target.tagName === 'INPUT') event.preventDefault();
  });
  // The boxes are empty when the event is over.
  box.form.addEventListener('reset', () => setTimeout(show));
  // The browser ticks them again on the way back to the page.
  addEventListener('pageshow', show);
  show();
}

/** Makes a dialog of the question in a `details`, because a dialog keeps the keyboard inside. */
function makeDialog(question) {
  const summary = question.querySelector('summary');
  const form = question.querySelector('form');
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', form.getAttribute('aria-labelledby'));
  const cancel = document.createElement('button');
  cancel.type = 'button';
  cancel.className = 'quiet';
  cancel.textContent = phrase('form.cancel');
  cancel.addEventListener('click', () => dialog.close());
  form.querySelector('.buttons').prepend(cancel);
  const opener = document.createElement('button');
  opener.type = 'button';
  opener.className = summary.className.replace('button', '').trim() + ' opens';
  opener.textContent = summary.textContent;
  opener.addEventListener('click', () => dialog.showModal());
  form.removeAttribute('role');
  dialog.append(form);
  question.replaceWith(opener);
  document.body.append(dialog);
}

/** Shows the `datetime` of an element in the reader's time zone, and how long ago it is. */
export function showInOwnZone(time) {
  const date = new Date(time.dateTime);
  if (Number.isNaN(date.getTime())) return;
  if ('ago' in time.dataset) return showAgo(time, date);
  if ('clock' in time.dataset) return showClock(time, date);
  time.title = time.dateTime;
  time.textContent = date.toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });
  const away = document.createElement('span');
  away.className = 'away';
  time.append(' ', away);
  showAway(away, date);
  nameZone();
}

/** Shows how long ago a time is; the time itself is its title. */
function showAgo(time, date) {
  time.title = date.toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' });
  time.textContent = agoOf(date) || date.toLocaleDateString('en', { dateStyle: 'medium' });
  nameZone();
}

/** Shows the time of a day, below the name of the day. */
function showClock(time, date) {
  time.title = date.toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' });
  time.textContent = date.toLocaleTimeString('en', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  nameZone();
}

/** Says at the end of the page which time zone its times have. */
function nameZone() {
  if (document.querySelector('main time[datetime]') === null) return;
  if (document.querySelector('.zone') !== null) return;
  const note = document.createElement('p');
  note.className = 'help zone';
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  note.textContent = phrase('page.zone', { zone: timeZone });
  document.querySelector('main').append(note);
}

/** Shows `(2 minutes ago)`; nothing for a time that is far away. */
function showAway(away, date) {
  const ago = agoOf(date);
  away.textContent = ago === '' ? '' : `(${ago})`;
}

/** `2 minutes ago`; nothing for a time that is far away. */
function agoOf(date) {
  const seconds = Math.round((date.getTime() - Date.now()) / 1_000);
  const [, size, unit] = AWAY.find(([below]) => Math.abs(seconds) < below) ?? [];
  if (unit === undefined) return '';
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  return words.format(Math.trunc(seconds / size), unit);
}

/** Copies the text of the element that the button names; where that fails, it is selected. */
function copyAtClick(button) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    const isCopied = await copy(source.value ?? source.textContent);
    if (!isCopied) select(source);
    button.textContent = phrase(isCopied ? 'copy.done' : 'copy.selected');
    const what = button.dataset.copied ?? label;
    say(isCopied ? phrase('copy.what', { what }) : phrase('copy.failed'));
    setTimeout(() => (button.textContent = label), 2_000);
  });
}

/** Browsers give the clipboard only to pages of HTTPS and of their own host; others must select. */
async function copy(text) {
  if (navigator.clipboard !== undefined)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  return isCopied;
}

function select(source) {
  if (source.select !== undefined) source.select();
  else getSelection().selectAllChildren(source);
}

/** Says something to people who hear the page. */
function say(text) {
  let voice = document.getElementById('voice');
  if (voice === null) {
    voice = document.createElement('p');
    voice.id = 'voice';
    voice.className = 'unseen';
    voice.setAttribute('role', 'status');
    document.querySelector('main').append(voice);
  }
  voice.textContent = text;
}

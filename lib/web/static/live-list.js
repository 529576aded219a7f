// The live values of a list. A list of records keeps its rows where they are, and says how many
// would be elsewhere by now; a list with an order of its own (`data-sorted`, a column by number)
// gets and loses rows, and sorts them unless a person is at work in it.

import { showInOwnZone } from './postern.js';
import { follow } from './postern.js';
import { phrase } from './postern.js';

const AGE_MS = 1_000;
/** Rows that a page names: the gateway follows no more. */
const ROWS_MAX = 200;

const place = document.querySelector('[data-list]');
if (place !== null) begin();

function begin() {
  /** Rows by number, as the stream names them. */
  const rows = new Map();
  /** Records to which rows lead, by the number that the stream gave them. */
  const links = new Map();
  const isSorted = 'sorted' in place.dataset;
  const changes = document.querySelector('[data-changes]');
  /** Whether rows wait for the person to leave the list. */
  let waits = false;

  const addressOf = () => {
    rows.clear();
    links.clear();
    // Of a flow that left and came back both rows may wait, with one key.
    if (isSorted) for (const row of place.querySelectorAll('[data-row][hidden]')) row.remove();
    const named = [...place.querySelectorAll(isSorted ? '[data-row]:not(.gone)' : '[data-row]')];
    const names = [];
    for (const [number, row] of named.slice(0, ROWS_MAX).entries()) {
      const [key, mark = ''] = row.dataset.row.split('.');
      const id = key || row.querySelector('.more').value;
      rows.set(number, row);
      names.push(`${id}.${mark}`);
      // What it holds is known to this page alone from now on.
      row.dataset.row = id;
    }
    const [path, query = ''] = place.dataset.list.split('?');
    const asked = new URLSearchParams(query);
    asked.set('rows', names.join(','));
    return `${path}?${asked}`;
  };
  const settle = () => {
    if (!isSorted || isHeld()) return;
    waits = false;
    arrange();
  };
  const isPaused = follow(addressOf, {
    rows({ data }) {
      const news = JSON.parse(data);
      for (const [number, ...link] of news.links ?? []) links.set(number, link);
      for (const [number, key, cells] of news.rows ?? []) {
        const row = rowOf(key, cells, links);
        row.hidden = true;
        rows.set(number, row);
        place.tBodies[0].append(row);
      }
      for (const [number, column, cell] of news.cells ?? []) {
        const row = rows.get(number);
        if (row !== undefined) put(cellsOf(row)[column], cell);
      }
      for (const line of news.figures?.split(';') ?? []) {
        const [number, ...amounts] = line.split(',');
        const row = rows.get(Number(number));
        for (const [i, amount] of amounts.entries())
          if (row !== undefined && amount !== '')
            put(cellsOf(row)[Number(place.dataset.sorted) + i], cellOf(amount));
      }
      for (const number of news.gone ?? []) {
        const row = rows.get(number);
        // Nobody has seen it yet.
        if (row?.hidden) row.remove();
        else row?.classList.add('gone');
        rows.delete(number);
      }
      if (news.changes !== undefined) tell(changes, news.changes);
      waits = true;
      settle();
    },
  });
  // A person may have left the list.
  for (const name of ['pointerleave', 'focusout', 'change'])
    place.addEventListener(name, () => setTimeout(() => waits && settle()));
  setInterval(() => {
    if (isPaused()) return;
    for (const time of place.querySelectorAll('time[data-ago]')) showInOwnZone(time);
  }, AGE_MS);
}

/** Whether a person is at work in the list, who must find each row where it was. */
function isHeld() {
  const isInside = place.contains(document.activeElement);
  return isInside || place.matches(':hover') || place.querySelector('input:checked') !== null;
}

/** Takes rows that are gone away, shows new ones, and sorts all of them. */
function arrange() {
  const body = place.tBodies[0];
  for (const row of body.querySelectorAll('.gone')) row.remove();
  const column = Number(place.dataset.sorted);
  const worth = (row) => Number(cellsOf(row)[column].dataset.sort);
  const sorted = [...body.rows].toSorted((one, other) => worth(other) - worth(one));
  for (const [i, row] of sorted.entries()) {
    row.hidden = false;
    if (body.rows[i] !== row) body.insertBefore(row, body.rows[i]);
  }
  const none = document.querySelector('[data-none]');
  [place.hidden, none.hidden] = [sorted.length === 0, sorted.length > 0];
}

function tell(changes, count) {
  changes.hidden = count === 0;
  changes.textContent = phrase(count === 1 ? 'live.changes_one' : 'live.changes', { count });
}

/** A text that leads somewhere, or is never broken. */
function partOf(text, href, isWhole) {
  const part = document.createElement(href === '' ? 'span' : 'a');
  if (href !== '') part.href = href;
  if (isWhole) part.className = 'whole';
  part.textContent = text;
  return part;
}

/** The cells of a row or of a card. */
function cellsOf(row) {
  if (row.cells === undefined) return [...row.querySelectorAll('[data-cell]')];
  return [...row.cells].filter(({ classList: names }) => !names.contains('select'));
}

/** An amount as the gateway shortens it (parts/live-list.ts): `1.4M/s`, or `30.8k 94`. */
function cellOf(amount) {
  if (amount === '-') return { text: '', sort: 0 };
  const [short, packets] = amount.split(' ');
  const [, count, unit, each = ''] = /^([\d.]+)([kMGTP]?)(\/s)?$/.exec(short);
  const cell = { text: `${count}\u00a0${unit}B${each}` };
  if (each !== '') cell.sort = Number(count) * 1_000 ** ' kMGTP'.indexOf(unit || ' ');
  if (packets !== undefined) cell.help = `${packets} ${packets === '1' ? 'packet' : 'packets'}`;
  return cell;
}

/** Changes parts of a cell, in place. */
function put(cell, parts) {
  const box = cell.querySelector(':scope > .cell') ?? cell;
  for (const [name, value] of Object.entries(parts)) {
    if (name === 'dot') box.querySelector('.dot').className = `dot ${value}`;
    else if (name === 'badge') (box.querySelector('.badge') ?? box).className = `badge ${value}`;
    else if (name === 'sort') cell.dataset.sort = value;
    else if (name === 'text') putText(box.querySelector(':is(a, b, .badge)') ?? box, value ?? '');
    else if (name === 'time') putTime(box, value);
    else if (name === 'help') putHelp(box, value ?? '');
  }
}

function putText(box, text) {
  const node = [...box.childNodes].find(({ nodeType }) => nodeType === Node.TEXT_NODE);
  if (node === undefined) box.prepend(text);
  else if (node.data !== text) node.data = text;
}

function putTime(box, value) {
  const present = box.querySelector('time');
  if (value === null) return present?.remove();
  const time = present ?? document.createElement('time');
  if (present === null) {
    time.dataset.ago = '';
    box.prepend(time);
  }
  time.dateTime = value;
  showInOwnZone(time);
}

function putHelp(box, text) {
  const present = box.querySelector('small:not(.below, .description)');
  if (text === '') return present?.remove();
  const small = present ?? document.createElement('small');
  if (small.textContent !== text) small.textContent = text;
  if (present === null) box.append(small);
}

/**
 * A row as the server makes them (views/partials/table.eta); a cell may name a link by number, or
 * be an amount. All texts are set as text.
 */
function rowOf(key, cells, links) {
  const row = document.createElement('tr');
  row.setAttribute('role', 'row');
  row.dataset.row = key;
  const base = place.dataset.base;
  for (const [i, one] of cells.entries()) {
    const head = place.tHead.rows[0].cells[i];
    const cell = row.insertCell();
    cell.setAttribute('role', 'cell');
    cell.dataset.label = head.textContent;
    cell.className = head.className;
    const box = document.createElement('span');
    box.className = 'cell';
    cell.append(box);
    const { link, ...own } = typeof one === 'string' ? cellOf(one) : one;
    const { href: ownHref, text: ownText, isWhole, ...parts } = own;
    const [text, href, owner] = links.get(link) ?? [ownText, ownHref, ''];
    if (owner) parts.help = [owner, parts.help].filter(Boolean).join(' · ');
    if (text) box.append(href || isWhole ? partOf(text, href ? base + href : '', isWhole) : text);
    put(cell, parts);
  }
  return row;
}

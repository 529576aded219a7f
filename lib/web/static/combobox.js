// Fields with `data-combobox` offer what may stand in them: ten texts at most, from the server, by
// what was typed so far, each with the label that people read. Without it people type the whole
// text.

import Combobox from './lib/combobox-nav.js';

const PAUSE_MS = 150;

offerWithin(document);
// A script put another page in the place of this one.
document.addEventListener('replaced', ({ target }) => offerWithin(target));

function offerWithin(part) {
  for (const field of part.querySelectorAll('input[data-combobox]')) offerIn(field);
}

function offerIn(field) {
  const list = document.createElement('ul');
  list.id = `${field.id}-offers`;
  list.className = 'offers';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Suggestions');
  list.hidden = true;
  const place = document.createElement('div');
  place.className = 'offering';
  field.before(place);
  place.append(field, list);
  field.autocomplete = 'off';
  const combobox = new Combobox(field, list, { tabInsertsSuggestions: false });
  const close = () => {
    if (list.hidden) return;
    combobox.stop();
    list.hidden = true;
  };
  const open = (offers) => {
    close();
    list.replaceChildren(...offers.map((offer, place) => optionOf(`${list.id}-${place}`, offer)));
    list.hidden = offers.length === 0;
    if (offers.length > 0) combobox.start();
  };
  const ask = paced(PAUSE_MS, async () => {
    const text = field.value;
    const answer = await fetch(`${field.dataset.combobox}?${new URLSearchParams({ q: text })}`);
    if (!answer.ok) return;
    const { offers } = await answer.json();
    if (document.activeElement === field && field.value === text) open(offers);
  });
  field.addEventListener('input', ask);
  field.addEventListener('focus', () => {
    field.select();
    ask();
  });
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close();
    if (event.key === 'ArrowDown' && list.hidden) ask();
  });
  // The field keeps the focus while somebody presses an offer.
  list.addEventListener('mousedown', (event) => event.preventDefault());
  list.addEventListener('combobox-commit', (event) => {
    field.value = event.target.dataset.value;
    close();
    field.dispatchEvent(new Event('change', { bubbles: true }));
  });
}

function optionOf(id, { value, label }) {
  const option = document.createElement('li');
  option.id = id;
  option.setAttribute('role', 'option');
  option.dataset.value = value;
  option.textContent = label;
  return option;
}

/**
 * Does something once nothing called for it for a while, and never twice at once: whoever calls
 * meanwhile is served afterwards.
 */
export function paced(pauseMs, work) {
  let timer;
  let isAtWork = false;
  let isWanted = false;
  const run = async () => {
    if (isAtWork) {
      isWanted = true;
      return;
    }
    isAtWork = true;
    try {
      await work();
    } catch {
      // The server is away for a moment; the next key asks again.
    }
    isAtWork = false;
    if (isWanted) {
      isWanted = false;
      await run();
    }
  };
  return () => {
    clearTimeout(timer);
    // Whoever called before is served with this one.
    isWanted = false;
    timer = setTimeout(run, pauseMs);
  };
}

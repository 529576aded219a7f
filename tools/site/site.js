// The search of the site, the button that copies code, and the part of the page that is read.

import MiniSearch from 'minisearch';

const MOST = 12;
const AROUND = 70;
const root = document.currentScript.dataset.root;
const place = (address) => (root === '' ? address : `${root}/${address}`);

const form = document.querySelector('form.search');
const input = form.querySelector('input');
const list = form.querySelector('#found');
const said = form.querySelector('.said');
let searching = null;
let chosen = -1;

/** Loads the index when somebody begins to search. */
function load() {
  searching ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = place('assets/search-index.js');
    script.addEventListener('load', () =>
      resolve(
        MiniSearch.loadJS(self.searchIndex, {
          fields: ['heading', 'page', 'text'],
          storeFields: ['address', 'page', 'heading', 'text'],
          searchOptions: {
            boost: { heading: 4, page: 3 },
            prefix: true,
            fuzzy: (word) => (word.length > 4 ? 0.2 : false),
            combineWith: 'AND',
            // Readers of the documentation come before readers of the sources.
            boostDocument: (_id, _term, { address }) => (address.startsWith('docs/') ? 1 : 0.3),
          },
        }),
      ),
    );
    script.addEventListener('error', () => {
      searching = null;
      reject(new Error('The search cannot be loaded.'));
    });
    document.head.append(script);
  });
  return searching;
}

async function search() {
  const text = input.value.trim();
  if (text === '') return close();
  try {
    const index = await load();
    if (input.value.trim() === text) show(index.search(text).slice(0, MOST));
  } catch (error) {
    said.textContent = error.message;
  }
}

function show(found) {
  chosen = -1;
  input.removeAttribute('aria-activedescendant');
  list.replaceChildren(...found.map(option));
  list.hidden = found.length === 0;
  input.setAttribute('aria-expanded', String(found.length > 0));
  said.textContent = found.length === 0 ? 'Nothing is found.' : '';
  if (found.length > 0) choose(0);
}

function option({ address, page, heading, text, terms }, i) {
  const link = document.createElement('a');
  link.href = place(address);
  link.id = `found-${i}`;
  link.tabIndex = -1;
  link.setAttribute('role', 'option');
  const title = document.createElement('strong');
  title.append(...marked(heading === '' ? page : heading, terms));
  const where = document.createElement('span');
  where.className = 'where';
  where.textContent = heading === '' ? '' : page;
  const excerpt = document.createElement('span');
  excerpt.className = 'excerpt';
  excerpt.append(...marked(around(text, terms), terms));
  link.append(title, where, excerpt);
  return link;
}

/** The text around the first word that was found. */
function around(text, terms) {
  const at = Math.max(text.toLowerCase().search(pattern(terms, '')), 0);
  const begin = at < AROUND ? 0 : text.indexOf(' ', at - AROUND) + 1;
  const cut = text.slice(begin, at + AROUND * 2);
  return `${begin > 0 ? '… ' : ''}${cut}${at + AROUND * 2 < text.length ? ' …' : ''}`;
}

/** Text with the words that were found as marks. */
function marked(text, terms) {
  return text.split(pattern(terms, 'gi')).map((piece, i) => {
    if (i % 2 === 0) return piece;
    const mark = document.createElement('mark');
    mark.textContent = piece;
    return mark;
  });
}

const pattern = (terms, flags) =>
  new RegExp(
    `(${terms.map((term) => RegExp.escape?.(term) ?? term.replaceAll(/\W/g, '.')).join('|')})`,
    flags,
  );

function choose(i) {
  const options = [...list.children];
  options[chosen]?.setAttribute('aria-selected', 'false');
  chosen = (i + options.length) % options.length;
  options[chosen].setAttribute('aria-selected', 'true');
  options[chosen].scrollIntoView({ block: 'nearest' });
  input.setAttribute('aria-activedescendant', options[chosen].id);
}

function close() {
  list.hidden = true;
  said.textContent = '';
  input.setAttribute('aria-expanded', 'false');
  input.removeAttribute('aria-activedescendant');
}

form.hidden = false;
form.addEventListener('submit', (event) => event.preventDefault());
input.addEventListener('focus', () => load().catch(() => {}));
input.addEventListener('input', () => void search());
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') close();
  if (list.hidden) return;
  if (event.key === 'ArrowDown') choose(chosen + 1);
  else if (event.key === 'ArrowUp') choose(chosen - 1);
  else if (event.key === 'Enter') list.children[chosen]?.click();
  else return;
  event.preventDefault();
});
document.addEventListener('click', (event) => {
  if (!form.contains(event.target) || event.target.closest('a') !== null) close();
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
});

async function copy(code, button) {
  await navigator.clipboard.writeText(code.querySelector('code').textContent);
  button.textContent = 'Copied';
  setTimeout(() => (button.textContent = 'Copy'), 2_000);
}

if (navigator.clipboard !== undefined)
  for (const code of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copy(code, button));
    code.append(button);
  }

const entries = new Map(
  [...document.querySelectorAll('.contents a')].map((link) => [link.hash.slice(1), link]),
);
const headings = [...document.querySelectorAll('article :is(h2, h3)')];
function follow() {
  const read = headings.findLast((heading) => heading.getBoundingClientRect().top < 120);
  for (const [id, link] of entries)
    if (id === read?.id) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
}
if (entries.size > 0) {
  document.addEventListener('scroll', follow, { passive: true });
  follow();
}
// The entry of this page is in the window.
document.querySelector('#menu [aria-current]')?.scrollIntoView({ block: 'nearest' });

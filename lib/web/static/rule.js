// While a rule is typed: which other rules match its packets, some time after the last key. Without
// it “Check” says the same.

import { paced } from './combobox.js';

const PAUSE_MS = 300;
const typed = document.querySelector('[data-typed-rule]');
const shown = document.querySelector('[data-meets]');

const ask = paced(PAUSE_MS, async () => {
  const query = new URLSearchParams(new FormData(typed.querySelector('form')));
  for (const name of ['csrf_token', 'seen', 'description']) query.delete(name);
  if (typed.dataset.rule !== undefined) query.set('id', typed.dataset.rule);
  const answer = await fetch(`${typed.dataset.typedRule}?${query}`);
  if (answer.ok) show(await answer.json());
});
typed?.addEventListener('input', ask);
typed?.addEventListener('change', ask);

function show({ meaning, meetings }) {
  shown.replaceChildren(
    ...(meaning === null ? [] : [element('p', { className: 'note warning' }, meaning)]),
    ...meetings.map(({ id, title, text, isWarning, rules }) => {
      const className = isWarning ? 'card warned' : 'card';
      const section = element('section', { className }, element('h2', { id }, title));
      section.setAttribute('aria-labelledby', id);
      section.append(
        element('p', {}, text),
        element('ul', { className: 'meets' }, ...rules.map(ruleLine)),
      );
      return section;
    }),
  );
}

function ruleLine({ href, text, whose }) {
  const help = element('span', { className: 'help' }, `for ${whose}`);
  return element('li', {}, element('a', { href }, text), ' ', help);
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Keeps what was typed while a person must sign in again. A form that asks for a recent sign-in
// shows afterwards what was typed into it. It is kept in this tab, for 15 minutes,
// and only for the same user. Passwords, codes and other secrets are never kept.

import { phrase } from './texts.js';

const PLACE = 'postern-typed';
const KEPT_MS = 15 * 60_000;

const asks = document.querySelector('[data-asks-again]');
const question = document.querySelector('form[data-asks-first]');
const who = document.querySelector('.who .email')?.textContent ?? null;

if (asks !== null) noteAsked();
else {
  if (document.querySelector('[data-signs-in]') === null && question === null) putBack();
  document.addEventListener('submit', ({ target }) => keep(target));
}

/** Keeps what was typed into a form that is sent. */
function keep(form) {
  if (form === question) return keepOn();
  if (form.method !== 'post' || who === null || form.closest('[data-signs-in]') !== null) return;
  const typed = fieldsOf(form).map(({ name, type, value, checked }) =>
    isBox(type) ? [name, value, checked] : [name, value],
  );
  if (typed.length === 0) return sessionStorage.removeItem(PLACE);
  const { href: page } = location;
  const kept = { who, action: pathOf(form), page, typed, at: Date.now(), isAsked: false };
  return sessionStorage.setItem(PLACE, JSON.stringify(kept));
}

/** Keeps what was typed into the form that a question is about: the question itself has no fields. */
function keepOn() {
  const text = sessionStorage.getItem(PLACE);
  if (text === null) return;
  sessionStorage.setItem(PLACE, JSON.stringify({ ...JSON.parse(text), at: Date.now() }));
}

/** Notes that the form was not accepted: the answer asks for a sign-in, or there was another one. */
function noteAsked() {
  const kept = read();
  if (kept === null) return;
  sessionStorage.setItem(PLACE, JSON.stringify({ ...kept, isAsked: true }));
  const again = asks.querySelector('[data-form-again]');
  if (again === null || kept.who !== who || kept.action !== location.pathname) return;
  again.querySelector('a').href = kept.page;
  again.hidden = false;
}

/** Fills the form in again, on the page that shows it. */
function putBack() {
  const kept = read();
  if (kept === null) return;
  // The form was accepted or refused without asking for a sign-in, or somebody else signed in.
  if (!kept.isAsked || kept.who !== who) return sessionStorage.removeItem(PLACE);
  const form = [...document.forms].find(
    (one) => one.method === 'post' && pathOf(one) === kept.action,
  );
  if (form === undefined) return;
  sessionStorage.removeItem(PLACE);
  fill(form, [...kept.typed]);
  sayThatItIsBack(form);
}

function fill(form, left) {
  for (const field of fieldsOf(form)) {
    const place = left.findIndex(
      ([name, value]) => name === field.name && (!isBox(field.type) || value === field.value),
    );
    if (place === -1) continue;
    const [[, value, checked]] = left.splice(place, 1);
    if (isBox(field.type)) field.checked = checked;
    else field.value = value;
    // It may be folded away.
    field.closest?.('details')?.setAttribute('open', '');
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }
}

function sayThatItIsBack(form) {
  const note = document.createElement('p');
  note.className = 'note';
  note.role = 'status';
  note.textContent = phrase('typed.again');
  form.before(note);
}

/**
 * The fields that people fill in, without those for secrets; and `seen`, which says what the form
 * showed before: with a newer one, what somebody else changed meanwhile would be overwritten unseen.
 */
function fieldsOf(form) {
  return [...form.elements].filter(
    ({ name, type, dataset, tagName, disabled }) =>
      ['INPUT', 'SELECT', 'TEXTAREA'].includes(tagName) &&
      name !== '' &&
      !disabled &&
      (name === 'seen' || type !== 'hidden') &&
      !['password', 'file', 'submit', 'button'].includes(type) &&
      dataset.secret === undefined,
  );
}

function isBox(type) {
  return type === 'checkbox' || type === 'radio';
}

/** The path to which a form is sent; by it a form is found again. */
function pathOf(form) {
  return new URL(form.getAttribute('action'), location.href).pathname;
}

function read() {
  const text = sessionStorage.getItem(PLACE);
  const kept = text === null ? null : JSON.parse(text);
  if (kept !== null && Date.now() - kept.at <= KEPT_MS) return kept;
  sessionStorage.removeItem(PLACE);
  return null;
}

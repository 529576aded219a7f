// Keeps what was typed while somebody is asked to sign in again, in this tab alone: a form that asks
// for a sign-in of the last five minutes is found again as it was sent. Passwords, codes and other
// secrets are never kept, nor is anything for somebody else who signs in, or for long.

const PLACE = 'postern-typed';
const KEPT_MS = 15 * 60_000;

const asks = document.querySelector('[data-asks-again]');
const who = document.querySelector('.who .email')?.textContent ?? null;

if (asks !== null) noteAsked();
else {
  if (document.querySelector('[data-signs-in]') === null) putBack();
  document.addEventListener('submit', ({ target }) => keep(target));
}

/** Keeps what stands in a form that is sent. */
function keep(form) {
  if (form.method !== 'post' || who === null || form.closest('[data-signs-in]') !== null) return;
  const typed = fieldsOf(form).map(({ name, type, value, checked }) =>
    isBox(type) ? [name, value, checked] : [name, value],
  );
  if (typed.length === 0) return sessionStorage.removeItem(PLACE);
  const kept = { who, action: pathOf(form), typed, at: Date.now(), isAsked: false };
  return sessionStorage.setItem(PLACE, JSON.stringify(kept));
}

/** The form was not taken, but answered with the question. */
function noteAsked() {
  const kept = read();
  if (kept !== null) sessionStorage.setItem(PLACE, JSON.stringify({ ...kept, isAsked: true }));
}

/** Fills the form in again, on the page that has it. */
function putBack() {
  const kept = read();
  if (kept === null) return;
  // It was taken, or refused with what was typed; or somebody else signed in.
  if (!kept.isAsked || kept.who !== who) return sessionStorage.removeItem(PLACE);
  const form = [...document.forms].find(
    (one) => one.method === 'post' && pathOf(one) === kept.action,
  );
  if (form === undefined) return;
  sessionStorage.removeItem(PLACE);
  fill(form, [...kept.typed]);
  tellThatItIsBack(form);
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
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }
}

function tellThatItIsBack(form) {
  const note = document.createElement('p');
  note.className = 'note';
  note.role = 'status';
  note.textContent =
    'What you typed is here again, without passwords and codes. Nothing is changed yet: please send it once more.';
  form.before(note);
}

/** Fields in which people type or choose what is no secret. */
function fieldsOf(form) {
  return [...form.elements].filter(
    ({ name, type, dataset, tagName, disabled }) =>
      ['INPUT', 'SELECT', 'TEXTAREA'].includes(tagName) &&
      name !== '' &&
      !disabled &&
      !['hidden', 'password', 'file', 'submit', 'button'].includes(type) &&
      dataset.secret === undefined,
  );
}

function isBox(type) {
  return type === 'checkbox' || type === 'radio';
}

/** Without what follows the path: pages are found again by their forms. */
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

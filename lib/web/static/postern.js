// What every page does in the browser, where scripts run: questions become dialogs, times are told in
// the reader's own zone, texts are copied at a click. Pages work without it.

enliven(document);
// On a narrow window the entries of the navigation stand in one line, which may be longer.
const present = document.querySelector('.places [aria-current]');
present?.scrollIntoView({ block: 'nearest', inline: 'center' });

/** Does so for a part of the page; again for a part that a script put there. */
export function enliven(part) {
  for (const question of part.querySelectorAll('details[data-confirm]')) makeDialog(question);
  for (const time of part.querySelectorAll('time[datetime]')) tellInOwnZone(time);
  for (const button of part.querySelectorAll('button[data-copy]')) copyAtClick(button);
}

/** Opens the question of a `details` as a dialog, which keeps the keyboard inside. */
function makeDialog(question) {
  const summary = question.querySelector('summary');
  const form = question.querySelector('form');
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', form.getAttribute('aria-labelledby'));
  const cancel = document.createElement('button');
  cancel.type = 'button';
  cancel.className = 'quiet';
  cancel.textContent = 'Cancel';
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

/** Tells a time in the reader's zone; again whenever its `datetime` was changed. */
export function tellInOwnZone(time) {
  const date = new Date(time.dateTime);
  if (Number.isNaN(date.getTime())) return;
  time.title = time.dateTime;
  time.textContent = date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Copies the text of the element that the button names. */
function copyAtClick(button) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    await copy(source.value ?? source.textContent);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = label), 2_000);
  });
}

/** Browsers give the clipboard to pages of HTTPS and of the own host alone; the others select. */
async function copy(text) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

// What every page does in the browser, where scripts run: questions become dialogs, times are told in
// the reader's own zone, texts are copied at a click. Pages work without it.

for (const question of document.querySelectorAll('details[data-confirm]')) makeDialog(question);
for (const time of document.querySelectorAll('time[datetime]')) tellInOwnZone(time);
for (const button of document.querySelectorAll('button[data-copy]')) copyAtClick(button);

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

function tellInOwnZone(time) {
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
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = label), 2_000);
  });
}

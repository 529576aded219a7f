// The key / leads to the search for everything, unless the focus is in a field, or the person has
// switched the key off under Account (WCAG 2.1.4). The choice is kept in this browser, where the
// keyboard is. Without scripts the search is reached like every other field.

const OFF = 'search-key-off';
const field = document.getElementById('everything');
const choice = document.getElementById('search-key');

const isOff = () => localStorage.getItem(OFF) !== null;

if (field !== null) begin();

/** Only administrators have the search. */
function begin() {
  if (choice !== null) {
    choice.checked = !isOff();
    choice.addEventListener('change', () => {
      if (choice.checked) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, '1');
      show();
    });
  }
  show();
  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    if (key !== '/' || ctrlKey || metaKey || altKey || event.isComposing || isOff()) return;
    if (target.closest('input, select, textarea, [contenteditable], dialog') !== null) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

/** Says in the field that the key is there. */
function show() {
  if (isOff()) field.removeAttribute('aria-keyshortcuts');
  else field.setAttribute('aria-keyshortcuts', '/');
}

// A page that waits for the first handshake of a device: it asks the gateway until the device is
// connected, and shows meanwhile what keeps it from that. Without scripts a link asks again.

const ASK_MS = 3_000;
/** A page that is left open does not ask for ever. */
const QUESTIONS_MAX = 400;

/** Begins to wait in a part of the page, also in a part that a script put there. */
export function awaitHandshake(part) {
  for (const place of part.querySelectorAll('[data-first-handshake]'))
    void ask(place, QUESTIONS_MAX);
}

async function ask(place, left) {
  await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  if (left === 0 || !place.isConnected) return;
  if (!document.hidden) {
    const found = await answerOf(place);
    // Signed out, or the device is gone.
    if (found === null) return;
    if (found !== undefined) show(place, found);
    if (found?.isConnected) return;
  }
  return ask(place, left - 1);
}

/** Undefined: no answer came. */
async function answerOf(place) {
  try {
    const response = await fetch(place.dataset.firstHandshake, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
    });
    return response.ok ? await response.json() : null;
  } catch {
    return undefined;
  }
}

/** A screen reader says what changed, so the same words are not written again. */
function show(place, { isConnected, text, advice }) {
  place.classList.toggle('done', isConnected);
  for (const [name, words] of Object.entries({ text, advice })) {
    const element = place.querySelector(`[data-said=${name}]`);
    if (element.textContent !== words) element.textContent = words;
  }
  if (isConnected) place.querySelector('[data-again]').hidden = true;
}

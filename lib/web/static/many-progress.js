// Shows how far it is: asks for the page again, once a second, until it says what became of it.

const PAUSE_MS = 1_000;

function plan() {
  if (document.querySelector('[data-progress] progress') !== null) setTimeout(lookAgain, PAUSE_MS);
}

async function lookAgain() {
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    // Signed out meanwhile, say: the page that says so comes in the place of this one.
    if (!answer.ok || answer.redirected) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    document
      .querySelector('[data-progress]')
      .replaceChildren(...page.querySelector('[data-progress]').childNodes);
  } catch {
    // The gateway is out of reach for a moment.
  }
  return plan();
}

plan();

// A stream of server-sent events that keeps a page up to date. A window that nobody sees asks for
// nothing, and the button of the page pauses it.

import { phrase } from './texts.js';

const RETRY_MS = 3_000;
const RETRY_LONGEST_MS = 60_000;

/** Offers the page of another version of the console's files than this script is of. */
function offerReload(bar, version) {
  if (import.meta.url.includes(`/${version}/`) || bar?.querySelector('[data-upgraded]')) return;
  const link = document.createElement('a');
  link.className = 'badge';
  link.dataset.upgraded = '';
  link.href = `${location.pathname}${location.search}`;
  link.textContent = phrase('live.upgraded');
  bar?.prepend(link, ' ');
}

/**
 * Follows the stream at `addressOf()`; `heard` has a listener for each event, and for `open`. What
 * it returns says whether the page is paused.
 */
export function follow(addressOf, heard) {
  const bar = document.querySelector('[data-bar]');
  const button = bar?.querySelector('[data-pause]');
  let source = null;
  let hasEnded = false;
  let isPaused = false;
  /** Streams that failed, since the last one that was there. */
  let failures = 0;
  const open = () => {
    if (source !== null || hasEnded || isPaused || document.hidden) return;
    const opened = new EventSource(addressOf());
    source = opened;
    for (const [name, listener] of Object.entries(heard)) opened.addEventListener(name, listener);
    opened.addEventListener('version', ({ data }) => offerReload(bar, data));
    opened.addEventListener('end', end);
    opened.addEventListener('open', () => (failures = 0));
    // Rows are named by the address, which is another one by now. A gateway that starts again, or
    // has too many streams, answers with an error, which is no end.
    opened.addEventListener('error', () => {
      if (source !== opened) return;
      close();
      const wait = Math.min(RETRY_MS * 2 ** failures, RETRY_LONGEST_MS);
      failures += 1;
      setTimeout(open, wait * (1 + Math.random()));
    });
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const end = () => {
    hasEnded = true;
    close();
    bar?.classList.remove('on');
  };
  button?.addEventListener('click', () => {
    isPaused = !isPaused;
    button.textContent = phrase(isPaused ? 'live.go_on' : 'live.pause');
    if (isPaused) close();
    else open();
  });
  // Browsers open few connections to one host; a window that nobody sees must not keep one.
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  bar?.classList.add('on');
  open();
  return () => isPaused;
}

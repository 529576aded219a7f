// Key pairs of devices, made in the browser: the public key goes into the form, the private key
// only into the file that the page shows. This script sends the form itself and puts the answer in
// the place of the page, so that the private key is stored nowhere. An answer may be lost, so a pair
// is dropped only after the gateway said that it is not in force. Pages work without this script.

import './lib/tweetnacl.js';
import { encode } from './lib/uqr.js';
import { awaitHandshake } from './first-handshake.js';
import { enliven } from './postern.js';
import { phrase } from './postern.js';

const KEY_BYTES = 32;
/** White modules around a QR code, which readers need to find it. */
const QUIET_MODULES = 4;
const CODE_PIXELS_MAX = 400;
/** After this time an answer counts as lost. */
const ANSWER_MS = 15_000;
/** The time between two questions whether a new key is in force. */
const ASK_AGAIN_MS = 3_000;
const SVG = 'http://www.w3.org/2000/svg';

/** Files with their private key that were downloaded or copied, as text. */
const savedFiles = new Set();
/** The file that is lost when the page is left; null where nothing is. */
let fileToSave = null;

addEventListener('beforeunload', (event) => {
  if (fileToSave !== null && !savedFiles.has(fileToSave)) event.preventDefault();
});

prepare(document.querySelector('main'), null);
// This document no longer contains the page before this one, so it must be loaded again.
addEventListener('popstate', () => location.reload());

/** Prepares a page's forms and its file; `pair` is the key pair of the device that it shows. */
function prepare(main, pair) {
  awaitHandshake(main);
  for (const form of main.querySelectorAll('form[data-makes-key]'))
    prepareForm(form, pair !== null);
  const file = main.querySelector('[data-client-file]');
  if (file !== null) prepareFile(main, file, pair);
}

// ---- a device that is added --------------------------------------------------------------------

/** `hadPair` says that the form was refused with a key that was made here. */
function prepareForm(form, hadPair) {
  const field = ownKeyOf(form, hadPair);
  let pair = null;
  form.addEventListener('submit', (event) => {
    if (field.value.trim() !== '') return;
    event.preventDefault();
    const button = form.querySelector('button[type=submit]');
    button.disabled = true;
    // The pair stays the same until an answer is seen, so that trying again adds no second device.
    const isAgain = pair !== null;
    pair ??= makeKeyPair();
    send(form, pair, isAgain ? { again: 'true' } : {}).then(
      (answer) => replacePage(answer, pair),
      () => {
        button.disabled = false;
        say(form, phrase('device.unsure'));
      },
    );
  });
}

/** The field for the person's own public key, which stays; one that was made here is cleared. */
function ownKeyOf(form, hadPair) {
  const own = form.querySelector('[data-own-key]');
  const field = own.querySelector('input');
  // No key was typed and none was made: the form was sent before this script had run.
  if (own.querySelector('.error') !== null && field.value === '') forgetError(form, own, field);
  const hasError = own.querySelector('.error') !== null;
  if (hadPair && !hasError) field.value = '';
  own.open = field.value !== '' || hasError;
  delete own.dataset.unread;
  return field;
}

/** Takes the error of a key away that this script makes, and leads to the button. */
function forgetError(form, own, field) {
  own.querySelector('.error').remove();
  own.querySelector('.wrong').classList.remove('wrong');
  field.removeAttribute('aria-invalid');
  field.setAttribute('aria-describedby', `${field.id}-help`);
  if (form.querySelector('[aria-invalid=true]') !== null) return;
  form.querySelector('.note.failed')?.remove();
  form.querySelector('button[type=submit]').focus();
}

/** Sends a form with the public key; returns the answer as a page, and its address. */
async function send(form, pair, further = {}) {
  const fields = new URLSearchParams(new FormData(form));
  fields.set('public_key', pair.publicKey);
  for (const [name, value] of Object.entries(further)) fields.set(name, value);
  return ask(form.action, { method: 'POST', body: fields });
}

async function ask(address, options = {}) {
  const headers = { accept: 'text/html' };
  const signal = AbortSignal.timeout(ANSWER_MS);
  const response = await fetch(address, { ...options, headers, signal });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  return { page, url: response.url, isRedirected: response.redirected };
}

function replacePage({ page, url, isRedirected }, pair) {
  const main = document.adoptNode(page.querySelector('main'));
  // A person who is no longer signed in was redirected to another page.
  if (isRedirected && main.querySelector('[data-client-file]') === null)
    return location.assign(url);
  document.querySelector('main').replaceWith(main);
  document.title = page.title;
  if (isRedirected && url !== location.href) history.pushState(null, '', url);
  enliven(main);
  prepare(main, pair);
  main.dispatchEvent(new Event('replaced', { bubbles: true }));
  main.focus();
  scrollTo(0, 0);
}

function say(form, text) {
  form.querySelector('.note.failed')?.remove();
  const note = document.createElement('p');
  note.className = 'note failed';
  note.setAttribute('role', 'alert');
  note.textContent = text;
  form.prepend(note);
}

// ---- another key pair of a device --------------------------------------------------------------

/** First shows the new file, and sends the new key when the person says so. */
function prepareChange(form, { complete, address, device }) {
  const field = ownKeyOf(form, true);
  const [button, giveUp] = form.querySelectorAll('.buttons button');
  const staged = form.querySelector('[data-staged]');
  const said = form.querySelector('[data-said]');
  let pair = null;
  let isUnsure = false;
  let isSignedOut = false;
  const tell = (text) => {
    said.textContent = text;
    said.hidden = text === '';
  };
  const warn = (event) => event.preventDefault();

  const stage = () => {
    pair = makeKeyPair();
    complete(pair.privateKey);
    for (const part of document.querySelectorAll('[data-without-key]'))
      if (!part.contains(form)) part.hidden = true;
    form.querySelector('[data-own-key]').hidden = true;
    [staged.hidden, giveUp.hidden] = [false, false];
    button.textContent = button.dataset.label;
    addEventListener('beforeunload', warn);
    const section = form.closest('section');
    section.parentElement.prepend(section);
    button.focus();
    section.scrollIntoView();
  };
  const finish = (answer) => {
    removeEventListener('beforeunload', warn);
    replacePage(answer, pair);
  };
  const putInForce = async () => {
    [button.disabled, giveUp.hidden, staged.hidden] = [true, true, true];
    tell(phrase('file.key_sent'));
    try {
      if (isSignedOut) takeToken(form, await ask(address));
      const answer = await send(form, pair);
      if (fileIn(answer.page) !== null) return finish(answer);
      if (!answer.isRedirected) throw new Error('an error page');
      tell(phrase('file.key_signed_out'));
      isSignedOut = true;
      button.disabled = false;
    } catch {
      isUnsure = true;
      tell(phrase('file.key_unsure'));
      setTimeout(findOut, ASK_AGAIN_MS);
    }
  };
  const findOut = async () => {
    const answer = await ask(address).catch(() => null);
    const file = answer === null ? null : fileIn(answer.page);
    if (file === null) return setTimeout(findOut, ASK_AGAIN_MS);
    if (file.dataset.publicKey === pair.publicKey) {
      finish(answer);
      return tellDone();
    }
    takeToken(form, answer);
    isUnsure = false;
    [button.disabled, giveUp.hidden, staged.hidden] = [false, false, false];
    tell(phrase('file.key_former'));
  };

  form.addEventListener('submit', (event) => {
    if (pair === null && field.value.trim() !== '') return;
    event.preventDefault();
    if (pair === null) stage();
    else if (!isUnsure) void putInForce();
  });
  giveUp.addEventListener('click', () => {
    removeEventListener('beforeunload', warn);
    location.assign(device);
  });
}

/** Shows the message of the answer that was lost. */
function tellDone() {
  const note = document.createElement('p');
  note.className = 'note done';
  note.setAttribute('role', 'status');
  note.textContent = phrase('file.key_in_force');
  document.querySelector('main').prepend(note);
}

/** Each sign-in brings another token; that of a form which was opened before is refused. */
function takeToken(form, { page }) {
  const { content } = page.querySelector('meta[name=csrf-token]');
  form.querySelector('[name=csrf_token]').value = content;
}

function fileIn(page) {
  return page.querySelector('[data-client-file]');
}

// ---- keys --------------------------------------------------------------------------------------

function makeKeyPair() {
  const privateKey = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  // Curve25519 keys have these bits set and cleared; `wg genkey` does it too.
  privateKey[0] &= 248;
  privateKey[31] = (privateKey[31] & 127) | 64;
  return pairOf(privateKey);
}

function pairOf(bytes) {
  const { publicKey } = nacl.box.keyPair.fromSecretKey(bytes);
  return { privateKey: toBase64(bytes), publicKey: toBase64(publicKey) };
}

/** The key pair of a private key, or of the line of a file that holds it; null where it is none. */
function readPrivateKey(text) {
  const [, key] = /^(?:.*PrivateKey\s*=\s*)?([A-Za-z0-9+/]{43}=)/is.exec(text) ?? [];
  if (key === undefined) return null;
  return pairOf(Uint8Array.from(atob(key), (character) => character.charCodeAt(0)));
}

function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

// ---- the file ----------------------------------------------------------------------------------

function prepareFile(main, file, pair) {
  const { blank, name, publicKey, address } = file.dataset;
  const text = file.querySelector('#client-file');
  const template = text.textContent;
  const link = file.querySelector('[data-download]');
  const code = file.querySelector('[data-qr]');
  // A file without its private key does not work, so it is offered only when it is complete.
  const blankOut = () => {
    text.textContent = template;
    link.hidden = true;
    code.hidden = true;
  };
  const complete = (privateKey) => {
    text.textContent = template.replace(blank, privateKey);
    link.textContent = link.dataset.label;
    link.classList.remove('quiet');
    link.hidden = false;
    drawCode(code, text.textContent, name);
  };
  const noteSaved = () => savedFiles.add(text.textContent);
  file.querySelector('[data-copy]').addEventListener('click', noteSaved);
  link.addEventListener('click', () => {
    noteSaved();
    // The file holds the text that is shown, with the private key, which the server does not have.
    const url = URL.createObjectURL(new Blob([text.textContent], { type: 'text/plain' }));
    link.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  });
  if (pair !== null && pair.publicKey === publicKey) {
    complete(pair.privateKey);
    fileToSave = text.textContent;
    for (const part of main.querySelectorAll('[data-without-key]')) part.remove();
    for (const part of main.querySelectorAll('[data-with-key]')) part.hidden = false;
    return;
  }
  blankOut();
  for (const form of file.querySelectorAll('form[data-changes-key]'))
    prepareChange(form, { complete, address, device: address.replace(/\/file$/, '') });
  preparePaste(file, publicKey, (privateKey) => {
    if (privateKey === null) blankOut();
    else complete(privateKey);
  });
}

/** The field for a private key that the person has; `take` gets the key, or null. */
function preparePaste(file, publicKey, take) {
  const field = file.querySelector('#private-key');
  const error = file.querySelector('#private-key-error');
  const title = file.querySelector('#private-key-title');
  const missing = title.textContent;
  const read = () => {
    const text = field.value.trim();
    const given = readPrivateKey(text);
    const isRight = given?.publicKey === publicKey;
    const isWrong = !isRight && text !== '';
    const words = phrase(given === null ? 'file.no_key' : 'file.other_key');
    error.textContent = isWrong ? words : '';
    field.toggleAttribute('aria-invalid', isWrong);
    if (isWrong) field.setAttribute('aria-invalid', 'true');
    title.textContent = isRight ? phrase('file.key_right') : missing;
    take(isRight ? given.privateKey : null);
  };
  field.addEventListener('input', read);
  // The key may have been pasted before this script had run.
  if (field.value !== '') read();
}

function drawCode(section, text, name) {
  const qr = encodeIfShort(text);
  section.hidden = false;
  section.querySelector('[data-scan]').hidden = qr === null;
  section.querySelector('[data-too-long]').hidden = qr !== null;
  if (qr === null) return;
  const { data, size } = qr;
  const side = size + 2 * QUIET_MODULES;
  const dark = data.flatMap((row, y) =>
    row.flatMap((isDark, x) =>
      isDark ? [`M${x + QUIET_MODULES} ${y + QUIET_MODULES}h1v1h-1z`] : [],
    ),
  );
  const svg = make('svg', {
    viewBox: `0 0 ${side} ${side}`,
    role: 'img',
    'aria-label': phrase('file.qr_of', { name }),
    'shape-rendering': 'crispEdges',
  });
  svg.append(make('rect', { width: side, height: side, fill: '#fff' }));
  svg.append(make('path', { d: dark.join(''), fill: '#000' }));
  const box = section.querySelector('.qr');
  box.replaceChildren(svg);
  fitCode(svg, box, side);
  new ResizeObserver(() => fitCode(svg, box, side)).observe(box);
}

/** Null for a text that is longer than the largest code holds, 2,953 bytes. */
function encodeIfShort(text) {
  try {
    return encode(text, { ecc: 'L', border: 0 });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whole pixels for every module: uneven ones are hard to read for cameras. */
function fitCode(svg, box, side) {
  const pixels = Math.max(1, Math.floor(Math.min(box.clientWidth, CODE_PIXELS_MAX) / side));
  svg.setAttribute('width', pixels * side);
  svg.setAttribute('height', pixels * side);
}

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

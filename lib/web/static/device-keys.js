// Key pairs of devices, made in the browser: the public key goes into the form, the private one into
// the file that the next page shows, and nowhere else. So that it need not be kept anywhere, the
// form is sent from here and its answer is put in the place of this page. Pages work without it.

import './lib/tweetnacl.js';
import { encode } from './lib/uqr.js';
import { enliven } from './postern.js';

const KEY_BYTES = 32;
/** Modules around a code that readers need to find it. */
const QUIET_MODULES = 4;
const CODE_PIXELS_MAX = 400;
const SVG = 'http://www.w3.org/2000/svg';

prepare(document.querySelector('main'), null);
// The page before this one is not in this document any more.
addEventListener('popstate', () => location.reload());

/** Makes a page's forms and its file work; the key pair is that of the device that it shows. */
function prepare(main, pair) {
  for (const form of main.querySelectorAll('form[data-makes-key]')) prepareForm(form);
  const file = main.querySelector('[data-client-file]');
  if (file !== null) prepareFile(main, file, pair);
}

// ---- the form ----------------------------------------------------------------------------------

function prepareForm(form) {
  const own = form.querySelector('[data-own-key]');
  const field = own.querySelector('input');
  const isFaulty = own.querySelector('.fault') !== null;
  // A key that was made for a form that was refused is gone.
  if (!isFaulty) field.value = '';
  own.open = isFaulty;
  for (const part of form.querySelectorAll('[data-with-script]')) part.hidden = false;
  form.addEventListener('submit', (event) => {
    if (field.value.trim() !== '') return;
    event.preventDefault();
    const button = form.querySelector('button[type=submit]');
    button.disabled = true;
    send(form, makeKeyPair()).catch(() => {
      button.disabled = false;
      say(form, 'The gateway could not be reached. Nothing was changed; try again.');
    });
  });
}

async function send(form, pair) {
  const fields = new URLSearchParams(new FormData(form));
  fields.set('public_key', pair.publicKey);
  const headers = { accept: 'text/html' };
  const response = await fetch(form.action, { method: 'POST', body: fields, headers });
  const answer = new DOMParser().parseFromString(await response.text(), 'text/html');
  const main = document.adoptNode(answer.querySelector('main'));
  // Whoever is not signed in any more was led elsewhere.
  if (response.redirected && main.querySelector('[data-client-file]') === null)
    return location.assign(response.url);
  document.querySelector('main').replaceWith(main);
  document.title = answer.title;
  if (response.redirected) history.pushState(null, '', response.url);
  enliven(main);
  prepare(main, pair);
  main.focus();
  scrollTo(0, 0);
}

function say(form, text) {
  form.querySelector('[data-said]')?.remove();
  const note = document.createElement('p');
  note.className = 'note failed';
  note.dataset.said = '';
  note.setAttribute('role', 'alert');
  note.textContent = text;
  form.prepend(note);
}

// ---- keys --------------------------------------------------------------------------------------

function makeKeyPair() {
  const privateKey = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  // As `wg genkey` does.
  privateKey[0] &= 248;
  privateKey[31] = (privateKey[31] & 127) | 64;
  return pairOf(privateKey);
}

function pairOf(bytes) {
  const { publicKey } = nacl.box.keyPair.fromSecretKey(bytes);
  return { privateKey: toBase64(bytes), publicKey: toBase64(publicKey) };
}

/** The key pair of a private key as text; null where it is none. */
function readPrivateKey(text) {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return null;
  return pairOf(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
}

function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

// ---- the file ----------------------------------------------------------------------------------

function prepareFile(main, file, pair) {
  const { blank, name, publicKey } = file.dataset;
  const text = file.querySelector('#client-file');
  const template = text.textContent;
  const complete = (privateKey) => {
    text.textContent = template.replace(blank, privateKey);
    drawCode(file.querySelector('[data-qr]'), text.textContent, name);
  };
  const link = file.querySelector('[data-download]');
  link.addEventListener('click', () => {
    // What is shown, and not what the server has.
    const address = URL.createObjectURL(new Blob([text.textContent], { type: 'text/plain' }));
    link.href = address;
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  });
  if (pair !== null && pair.publicKey === publicKey) {
    complete(pair.privateKey);
    for (const part of main.querySelectorAll('[data-without-key]')) part.remove();
    for (const part of main.querySelectorAll('[data-with-key]')) part.hidden = false;
    return;
  }
  const field = file.querySelector('#private-key');
  file.querySelector('[data-paste]').hidden = false;
  field.addEventListener('input', () => {
    const given = readPrivateKey(field.value.trim());
    const isRight = given?.publicKey === publicKey;
    const fault = given === null ? 'This is no private key.' : 'This is the key of another device.';
    const isEmpty = field.value.trim() === '';
    file.querySelector('#private-key-fault').textContent = isRight || isEmpty ? '' : fault;
    field.toggleAttribute('aria-invalid', !isRight && !isEmpty);
    if (field.hasAttribute('aria-invalid')) field.setAttribute('aria-invalid', 'true');
    if (isRight) complete(given.privateKey);
    else text.textContent = template;
    file.querySelector('[data-qr]').hidden = !isRight;
  });
}

function drawCode(section, text, name) {
  const { data, size } = encode(text, { ecc: 'L', border: 0 });
  const side = size + 2 * QUIET_MODULES;
  const dark = data.flatMap((row, y) =>
    row.flatMap((isDark, x) =>
      isDark ? [`M${x + QUIET_MODULES} ${y + QUIET_MODULES}h1v1h-1z`] : [],
    ),
  );
  const svg = make('svg', {
    viewBox: `0 0 ${side} ${side}`,
    role: 'img',
    'aria-label': `QR code of ${name}`,
    'shape-rendering': 'crispEdges',
  });
  svg.append(make('rect', { width: side, height: side, fill: '#fff' }));
  svg.append(make('path', { d: dark.join(''), fill: '#000' }));
  const box = section.querySelector('.qr');
  box.replaceChildren(svg);
  section.hidden = false;
  fitCode(svg, box, side);
  new ResizeObserver(() => fitCode(svg, box, side)).observe(box);
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

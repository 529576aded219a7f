// The table of texts: what pages for users say, and nothing that they do not.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { findAssets } from '../../../../lib/web/kit/assets.ts';
import { english, say, sayMarked, type TextKey } from '../../../../lib/web/kit/texts.ts';

const WEB = join(import.meta.dirname, '../../../../lib/web');

/** Views that say nothing in words of their own. A new page for users is added here. */
const VIEWS = [
  'account.eta',
  'ask-for-code.eta',
  'change-password.eta',
  'device-file.eta',
  'error.eta',
  'forgotten-password.eta',
  'layout.eta',
  'leave.eta',
  'leave-by-form.eta',
  'one-time-link.eta',
  'recovery-codes.eta',
  'register-mfa.eta',
  'second-factor.eta',
  'sign-in.eta',
  'sign-in-again.eta',
  'user-devices.eta',
  'user-device.eta',
  'user-device-edit.eta',
  'user-device-new.eta',
  'user-refusals.eta',
  ...['device-fields', 'first-handshake', 'live', 'navigation', 'plot', 'public-key'].map(partial),
  ...['quota', 'sign-out', 'switches', 'undo', 'vpn-session'].map(partial),
];

/** Code that says nothing in words of its own. */
const CODE = [
  'kit/answers.ts',
  'kit/errors.ts',
  'kit/navigation.ts',
  'kit/recent.ts',
  'pages/account.ts',
  'pages/device-file.ts',
  'pages/forgotten-password.ts',
  'pages/one-time-links.ts',
  'pages/openid-sign-in.ts',
  'pages/provider-sign-in.ts',
  'pages/renewal.ts',
  'pages/saml-sign-in.ts',
  'pages/second-factor.ts',
  'pages/second-factors.ts',
  'pages/sign-in.ts',
  'pages/user-devices.ts',
  'pages/user-refusals.ts',
  'parts/device-form.ts',
  'parts/device-limits.ts',
  'parts/device-status.ts',
  'parts/first-handshake.ts',
  'parts/own-devices.ts',
  'parts/quota.ts',
  'parts/session-rows.ts',
  ...['device-keys', 'device-live', 'first-handshake', 'history', 'leave-by-form'].map(script),
  ...['live-list', 'postern', 'stream', 'texts', 'typed-again'].map(script),
  script('typed-times'),
];

/** What is text in a view though it is within a tag. */
const SAID = ['alt', 'aria-label=', 'placeholder', 'title', 'data-label', 'data-plot'].join('|');

/** A literal, and whether it is a sentence or begins as one. */
const LITERAL = /'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const WORDS = /^['`](?:\p{Lu}\p{Ll}+[ '`.:?!]|[\p{L}’,]+ [\p{L}’,]+ )/u;

test('a value is put in its place, once, and stays text', (t) => {
  t.is(
    say('blocked.elsewhere', { devices: '{devices}, $&' }),
    'Connected to another gateway: {devices}, $&. What is blocked there is not in this list.',
  );
  t.throws(() => say('constructor' as TextKey), { message: 'there is no text constructor' });
});

test('what is marked within a sentence is HTML, and what it holds stays text', (t) => {
  t.is(
    sayMarked('quota.over', { used: '<b>{quota}', quota: '$&', until: { time: '"\'&' } }),
    'You used &lt;b&gt;{quota} of $&amp; this month. Your devices reach nothing but this gateway until <time datetime="&quot;&#39;&amp;">&quot;&#39;&amp;</time>. If you need more, ask an administrator.',
  );
  const devices = { em: 'device.held_devices' } as const;
  const page = { href: '/x"y', key: 'device.held_page', marks: { devices } } as const;
  t.is(
    sayMarked('device.held_there', { page }),
    'It is off by an administrator, or ended: remove it on <a href="/x&quot;y">its page under <em>Devices</em></a>.',
  );
  const own = Object.create({ when: 'never' }) as Record<string, string>;
  t.true(sayMarked('session.ends', own).includes('{when}'), 'only marks of its own');
});

test('these views have all their words from the table', (t) => {
  for (const view of VIEWS) t.is(wordsOf(read('views', view)), null, view);
});

test('words of their own are found in views, wherever they are', (t) => {
  for (const [view, words] of [
    ['<p class="help">Words</p>', 'Words'],
    ['<pre aria-label="The file"></pre>', 'The file'],
    ['<a data-label="Download <%= it.name %>"></a>', 'Download '],
    ['<div data-plot="Traffic"></div>', 'Traffic'],
    ["<%= it.isOwn ? 'Tell somebody' : '' %>", "'Tell somebody'"],
    ['<%= `Tell somebody` %>', '`Tell somebody`'],
  ] as const)
    t.true(wordsOf(view)?.includes(words), view);
  t.is(wordsOf(`<p class="help" hidden><%= it.say('file.the') %></p>`), null);
});

test('this code has all its words from the table', (t) => {
  for (const file of CODE) {
    const code = read(file)
      .replaceAll(/^import [^;]*;|^\s*(?:\/\/|\/?\*).*$/gm, '')
      // What a machine reads, the log and bugs have the same words in every language.
      .replaceAll(/(?:commandLine|new Error)\('[^']*'\)|\blog\.\w+\([^;]*;|\.key === '\w+'/g, '');
    t.is(sentenceIn(code), null, file);
  }
});

test('scripts write times in English, as the pages around them are', (t) => {
  for (const script of readdirSync(join(WEB, 'static')).filter((file) => file.endsWith('.js'))) {
    const text = readFileSync(join(WEB, 'static', script), 'utf8');
    t.notRegex(
      text,
      /toLocale(?:\w*)String\((?!'en')|new Intl\.\w+\((?!'en'|\)\.resolved)/,
      script,
    );
  }
});

test('scripts are given the texts that they say', async (t) => {
  const { files } = findAssets();
  const module = String(files['postern.js']).match(/const TEXTS = (\{.*\});/)?.[1] ?? '{}';
  const given = JSON.parse(module) as Record<string, string>;
  t.is(given['live.changes'], english['live.changes']);
  t.false('error.scope' in given, 'no others');
  for (const [name, file] of Object.entries(files))
    for (const [said] of name.startsWith('lib/') ? [] : String(file).matchAll(/phrase\([^)]*\)/g))
      for (const [key] of said.matchAll(/(?<=')\w+\.\w+(?=')/g)) t.true(key in given, key);
});

test('every text is said somewhere', (t) => {
  const sources = readdirSync(WEB, { encoding: 'utf8', recursive: true })
    .filter((file) => /\.(eta|ts|js)$/.test(file) && !file.includes('kit/english-'))
    .map((file) => readFileSync(join(WEB, file), 'utf8'))
    .join('');
  for (const key of Object.keys(english)) t.true(sources.includes(`'${key}'`), key);
});

function script(name: string): string {
  return `static/${name}.js`;
}

function partial(name: string): string {
  return `partials/${name}.eta`;
}

function read(...names: string[]): string {
  return readFileSync(join(WEB, ...names), 'utf8');
}

/** The first words of its own that a view says; null: none. */
function wordsOf(view: string): string | null {
  const text = view.replaceAll(/\/\*[^]*?\*\//g, '');
  const plain = text
    .replace('<!doctype html>', '')
    .replaceAll(/<%[^]*?%>/g, '')
    .replaceAll(new RegExp(String.raw`\s(?!${SAID})[\w-]+="[^"]*"`, 'g'), '')
    .replaceAll(
      /<\/?\w+|\s(?:formnovalidate|hidden|open|popover|readonly|data-[\w-]+)(?=[\s>])/g,
      '',
    )
    .replaceAll(new RegExp(String.raw`\s(?:${SAID})[\w-]*=?""`, 'g'), '')
    .replaceAll(new RegExp(String.raw`\s(?:${SAID})="`, 'g'), ' "');
  if (/\p{L}/u.test(plain)) return plain;
  // What a machine reads, such as a command, is the same in every language.
  const code = [...text.matchAll(/<%[^]*?%>/g)].join('\n').replaceAll(/\bcode: '[^']*'/g, '');
  return sentenceIn(code);
}

function sentenceIn(code: string): string | null {
  return code.match(LITERAL)?.find((literal) => WORDS.test(literal)) ?? null;
}

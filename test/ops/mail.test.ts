// One-time links by a real mail server, Debian's Exim: they arrive, and the person who opens one in
// a real browser chooses a password and adds a device. What is wrong with the server is said, and
// costs nobody the link.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import type { Finding } from '../../dataplane/index.ts';
import { programMain } from '../support/gateway/bundle.ts';
import { startGateway, type WholeGateway } from '../support/gateway/gateway-process.ts';
import { type Exim, openExim } from '../support/network/exim.ts';
import { openBrowserAt, signIn } from '../support/web/browser.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PASSWORD = 'staple staple staple';

/** A command in the environment of a gateway, with other settings. */
function command(
  { environment }: WholeGateway,
  settings: Record<string, string>,
  ...words: string[]
): Promise<{ status: number; printed: string; noted: string }> {
  const env = { ...environment, ...settings };
  return new Promise((done) => {
    execFile(process.execPath, [programMain(), ...words], { cwd: ROOT, env }, (error, out, err) => {
      done({ status: Number(error?.code ?? 0), printed: out.trim(), noted: err });
    });
  });
}

/** What the doctor says of the mail server. */
async function doctorOn(
  gateway: WholeGateway,
  settings: Record<string, string> = {},
): Promise<Finding | undefined> {
  const { printed } = await command(gateway, settings, 'doctor', '--json');
  const { findings } = JSON.parse(printed) as { findings: Finding[] };
  return findings.find(({ check }) => check === 'mail');
}

async function addUser({ call }: WholeGateway, email: string): Promise<string> {
  const { status, body, text } = await call('POST', '/v0/users', { user: { email } });
  if (status !== 201) throw new Error(text);
  return (body as { data: { id: string } }).data.id;
}

/** Makes a link with a mail, and returns what is answered of it. */
async function enrol({ call }: WholeGateway, id: string): Promise<Record<string, string | null>> {
  const wish = { enrolment: { mail: true } };
  const { status, body, text } = await call('POST', `/v0/users/${id}/enrolment`, wish);
  if (status !== 201) throw new Error(`${status} ${text}`);
  return (body as { data: Record<string, string | null> }).data;
}

function linkIn(mail = ''): string {
  return /^http\S+\/one_time_links\/\S+$/m.exec(mail)?.[0] ?? '';
}

async function choosePassword(page: Page, link: string, button: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel('New password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('New password again').fill(PASSWORD);
  await page.getByRole('button', { name: button }).click();
}

async function open(t: ExecutionContext) {
  const exim = await openExim(t);
  return { exim, ...(await openBrowserAt(t, await startGateway(t, exim.settings))) };
}

test.serial('a mailed link lets a person in, who adds a device', async (t) => {
  t.timeout(180_000);
  const { exim, gateway, person } = await open(t);
  t.like(await doctorOn(gateway), { level: 'ok' });
  const id = await addUser(gateway, 'ann@example.com');
  const made = await enrol(gateway, id);
  t.like(made, { state: 'open', mail_fault: null });
  t.true(Math.abs(Date.parse(String(made['mailed_at'])) - Date.now()) < 60_000);
  const [mail = ''] = await exim.mailsTo('ann@example.com');
  t.regex(mail, /with esmtpsa/, 'over TLS, with a password');
  t.is(linkIn(mail), String(made['url']));

  const page = await person();
  await choosePassword(page, linkIn(mail), 'Choose password and go on');
  await page.waitForURL('/user_devices/new');
  await page.getByLabel('Name', { exact: true }).fill('laptop');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const { body } = await gateway.call('GET', '/v0/devices');
  t.like((body as { data: object[] }).data, [{ name: 'laptop', user_id: id }]);
  const used = (await gateway.call('GET', `/v0/users/${id}/enrolment`)).body;
  t.like(used, { data: { state: 'used' } });

  const stranger = await person();
  await stranger.goto(linkIn(mail));
  t.is(await stranger.getByLabel('New password').count(), 0, 'once');
  await forget(t, exim, stranger);
});

/** Asks for another password, and signs in with it. */
async function forget(t: ExecutionContext, exim: Exim, page: Page): Promise<void> {
  await page.goto('/');
  await page.getByRole('button', { name: 'Forgot password?' }).click();
  await page.getByLabel('E-mail').fill('ann@example.com');
  await page.getByRole('button', { name: 'Send me a link' }).click();
  await page.getByText('a mail is on its way').waitFor();
  const mails = await exim.mailsTo('ann@example.com', 2);
  await choosePassword(page, linkIn(mails.at(-1)), 'Change password');
  await page.waitForURL('/user_devices');
  t.true(await page.getByText('laptop').first().isVisible());
}

test.serial('the command line sends links, also to a list of people', async (t) => {
  t.timeout(180_000);
  const { exim, gateway } = await open(t);
  const enrolOne = ['user', 'enrol', 'bob@example.com', '--create-user', '--mail'];
  const one = await command(gateway, {}, ...enrolOne);
  t.is(one.status, 0, one.noted);
  t.is(linkIn((await exim.mailsTo('bob@example.com'))[0]), one.printed);

  const wrong = await command(gateway, { SMTP_URL: exim.url('wrong') }, ...enrolOne);
  t.is(wrong.status, 1);
  t.regex(wrong.noted, /No mail went to bob@example\.com\. .*refused user or password.*535/);
  t.notRegex(wrong.noted + wrong.printed, /p@ss|p%40ss/);
  t.regex(wrong.printed, /^http\S+\/one_time_links\/\S+$/, 'the link is there all the same');

  const unknown = await command(gateway, { NODE_EXTRA_CA_CERTS: '' }, ...enrolOne);
  t.is(unknown.status, 1);
  t.regex(unknown.noted, /cannot be reached over TLS\. Look at its certificate/);

  const elsewhere = ['user', 'enrol', 'eve@elsewhere.example', '--create-user', '--mail'];
  const refused = await command(gateway, {}, ...elsewhere);
  t.is(refused.status, 1);
  t.regex(refused.noted, /refused the mail \(it answered 550\)/);
  t.is((await exim.mailsTo('bob@example.com')).length, 1);

  const bad = { SMTP_URL: exim.url('wrong') };
  t.like(await doctorOn(gateway, bad), { level: 'failed', fix: 'Look at SMTP_URL.' });
  const untrusted = await doctorOn(gateway, { NODE_EXTRA_CA_CERTS: '' });
  t.regex(untrusted?.message ?? '', /over TLS/);
});

test.serial('a mail server that is away costs the mail, and not the link', async (t) => {
  t.timeout(180_000);
  const { exim, gateway, person } = await open(t);
  const id = await addUser(gateway, 'carol@example.com');
  await exim.stop();
  const made = await enrol(gateway, id);
  t.like(made, { state: 'open', mailed_at: null });
  t.regex(String(made['mail_fault']), /^The mail server cannot be reached/);
  t.regex((await doctorOn(gateway))?.message ?? '', /cannot be reached/);

  const admin = await person();
  await signIn(admin);
  await admin.waitForURL('/dashboard');
  await admin.goto(`/users/${id}`);
  await admin.getByText('The mail server cannot be reached').waitFor();

  const carol = await person();
  await choosePassword(carol, String(made['url']), 'Choose password and go on');
  await carol.waitForURL('/user_devices/new');
});

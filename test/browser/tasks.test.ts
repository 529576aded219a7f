// Twelve common tasks, as somebody does them who knows the pages: how many actions each takes. Each
// begins at Overview, in a window of 1440 × 900. README.md has the table, which this test compares
// with what it counted.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { make, openBrowser, signedIn, signIn } from '../support/web/browser.ts';
import { furnish } from '../support/web/furnished.ts';
import { type Recorded, Recorder } from '../support/web/recorder.ts';

const README = join(import.meta.dirname, 'README.md');
const PHONE = { width: 390, height: 844 };
const PASSWORD = 'correct horse battery staple';
const TEN = Array.from({ length: 10 }, (_, i) => `new.${i}@example.com`);

/** A task, how many actions and words it may take at most, and how it is done. */
interface Task {
  readonly name: string;
  readonly most: readonly [actions: number, words: number];
  readonly work: (person: Recorder, colleague: () => Promise<Recorder>) => Promise<void>;
}

/** Finds something by the search for everything, and opens it. */
async function find(person: Recorder, word: string, name: string | RegExp): Promise<void> {
  const { page } = person;
  await person.press('/');
  await person.write(page.getByRole('searchbox'), word);
  await person.press('Enter');
  await person.click(page.getByRole('main').getByRole('link', { name }).first());
}

/** Waits until a page says that it is done. */
async function saved({ page }: Recorder): Promise<void> {
  await page.locator('main > .note.done').waitFor();
}

const TASKS: readonly Task[] = [
  {
    name: 'Switch off a lost laptop',
    most: [4, 1],
    async work(person) {
      await find(person, 'laptop', 'laptop');
      await person.button('Switch off');
      await saved(person);
    },
  },
  {
    name: 'Put ten people into a group',
    most: [4, 1],
    async work(person) {
      await person.link('Groups');
      await person.link('Engineering');
      await person.write(person.page.getByLabel('E-mails'), TEN.join('\n'));
      await person.button('Add members');
      await saved(person);
    },
  },
  {
    name: 'See which rule refused a packet',
    most: [3, 0],
    async work(person) {
      await person.link('Refused');
      const row = person.page.getByRole('row').filter({ hasText: '10.0.0.6' });
      await person.click(row.getByRole('link', { name: 'Explain' }));
      await person.see(person.page.getByRole('heading', { name: /Drop 10\.0\.0\.0\/8/ }));
    },
  },
  {
    name: 'Bring the phone of a new colleague into the VPN',
    most: [14, 4],
    async work(person, colleague) {
      const { page } = person;
      await person.link('Invitations');
      await person.link('Invite people');
      await person.write(page.getByLabel('E-mails'), 'colleague@example.com');
      await person.button('Make the links');
      const link = await page.getByLabel('Link', { exact: true }).inputValue();
      await person.button('Copy');
      const other = await colleague();
      await other.open(link);
      await other.write(other.page.getByLabel('New password', { exact: true }), PASSWORD);
      await other.writeNext(PASSWORD);
      await other.press('Enter');
      await other.write(other.page.getByLabel('Name', { exact: true }), 'phone');
      await other.press('Enter');
      await other.link(/^Download/);
    },
  },
  {
    name: 'Let a packet pass that was refused',
    most: [3, 0],
    async work(person) {
      await person.link('Refused');
      await person.link('Accept this');
      await person.button('Add the rule');
      await saved(person);
    },
  },
  {
    name: 'Let nothing be left of a person who has left',
    most: [6, 1],
    async work(person) {
      await find(person, 'new.3', /new\.3/);
      await person.click(person.page.getByRole('main').getByRole('button', { name: 'More' }));
      await person.button('This person has left');
      await person.button('End all of it');
      await saved(person);
    },
  },
  {
    name: 'Limit the download of a phone to 50 Mbit/s',
    most: [6, 2],
    async work(person) {
      const { page } = person;
      await find(person, 'phone', 'phone');
      await person.click(page.getByRole('main').getByRole('link', { name: 'Settings' }));
      await person.write(page.getByLabel('Download limit'), '50 Mbit/s');
      await person.press('Enter');
      await saved(person);
    },
  },
  {
    name: 'Let a group reach TCP 443 of an address',
    most: [9, 3],
    async work(person) {
      const { page } = person;
      await person.link('Rules');
      await person.link('Add a rule');
      await person.choose(page.getByLabel('Protocol'), 'TCP');
      await person.write(page.getByLabel('Ports'), '443');
      await person.writeNext('10.2.0.9');
      await person.writeNext('Engineering');
      await person.press('Enter');
      await saved(person);
    },
  },
  {
    name: 'Ask whether a device reaches a port',
    most: [6, 3],
    async work(person) {
      const { page } = person;
      await person.link('Would it pass?');
      await person.write(page.getByLabel('From'), 'tablet');
      await person.writeNext('10.0.0.6');
      await person.press('Tab');
      await person.writeNext('22');
      await person.press('Enter');
      await person.see(page.getByRole('heading', { name: /It does not pass/ }));
    },
  },
  {
    name: 'See who changed rules',
    most: [4, 0],
    async work(person) {
      await person.link('Audit log');
      await person.button('Kind');
      await person.choose(person.page.getByLabel('Kind'), 'rule');
      await person.button('Filter');
      await person.see(person.page.getByText('added rule').first());
    },
  },
  {
    name: 'Make an API token that reads',
    most: [7, 1],
    async work(person) {
      const { page } = person;
      await person.link('API tokens');
      await person.link('Make a token');
      await person.write(page.getByLabel('Name', { exact: true }), 'report');
      await person.click(page.getByLabel('Everything', { exact: true }));
      await person.click(page.getByLabel('Read', { exact: true }));
      await person.button('Make the token');
      await person.button('Copy');
    },
  },
  {
    name: 'Let a device end in a week',
    most: [5, 0],
    async work(person) {
      const { page } = person;
      await person.link('Devices');
      await person.click(page.getByRole('checkbox', { name: /tablet/ }));
      await person.click(page.getByText('Set an end…'));
      await person.button('1 week');
      await person.button('Set the end');
      await saved(person);
    },
  },
];

test('common tasks take few actions', async (t) => {
  t.timeout(400_000);
  const stage = await openBrowser(t, { DEFAULT_CLIENT_ENDPOINT: 'vpn.example.com' });
  await furnish(t, stage);
  for (const email of TEN) await make(stage, 'user', { email });
  const page = await stage.person({ viewport: { width: 1_440, height: 900 } });
  await signIn(page);
  await signedIn(page);
  const person = new Recorder(page);
  const table = readTable();
  t.deepEqual(
    [...table.keys()],
    TASKS.map(({ name }) => name),
  );
  for (const { name, most, work } of TASKS) {
    await page.goto('/dashboard');
    person.take();
    const people = [person];
    await work(person, async () => {
      const colleague = new Recorder(await stage.person({ viewport: PHONE }));
      people.push(colleague);
      return colleague;
    });
    const done = sumOf(people.map((one) => one.take()));
    const [before = [], now = []] = table.get(name) ?? [];
    t.deepEqual([done.actions, done.words, done.pages], now, `${name}: ${JSON.stringify(done)}`);
    t.true(done.actions <= most[0] && done.words <= most[1], name);
    t.true(done.actions <= (before[0] ?? 0), `${name}: more than before`);
  }
});

type Counts = readonly number[];

/** Actions, words and pages of each task: before, and now. */
function readTable(): Map<string, readonly [before: Counts, now: Counts]> {
  const rows = readFileSync(README, 'utf8').matchAll(
    /^\| (\w.*?) *\| (\d+), (\d+), (\d+) *\| (\d+), (\d+), (\d+) *\|$/gm,
  );
  return new Map(
    [...rows].map(([, name = '', ...counts]) => {
      const numbers = counts.map(Number);
      return [name, [numbers.slice(0, 3), numbers.slice(3)]];
    }),
  );
}

/** What several people did for one task. */
function sumOf(all: readonly Recorded[]): Recorded {
  return all.reduce((sum, one) => ({
    actions: sum.actions + one.actions,
    words: sum.words + one.words,
    pages: sum.pages + one.pages,
  }));
}

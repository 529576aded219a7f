// The pictures of the documentation show pages as they are. `npm run pictures` makes them anew: each is
// taken from a page of the same gateway, and `made-of.json` says of which page each was taken.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { openBrowser } from '../support/web/browser.ts';
import { carry, fill, FOLDER, hashOf, MADE_OF, open, PICTURES } from '../support/web/pictures.ts';

interface Made {
  /** Of what the page was made. */
  readonly page: string;
  /** Of the bytes of the picture. */
  readonly picture: string;
}

const isWriting = process.env['PICTURES'] === 'write';

test('each picture is one of the page as it is', async (t) => {
  t.timeout(600_000);
  const stage = await openBrowser(t, { DEFAULT_CLIENT_ENDPOINT: 'vpn.example.com' });
  await fill(t, stage);
  // A picture has a chart that is worth seeing.
  await carry(t, stage, isWriting ? 60_000 : 2_000);
  const made: Record<string, Made> = {};
  for (const [name, picture] of Object.entries(PICTURES)) {
    const page = await open(stage, picture);
    const file = join(FOLDER, `${name}.png`);
    mkdirSync(FOLDER, { recursive: true });
    if (isWriting) await page.screenshot({ path: file });
    const bytes = createHash('sha256').update(readFileSync(file)).digest('hex');
    made[name] = { page: await hashOf(page), picture: bytes };
  }
  if (isWriting) writeFileSync(MADE_OF, `${JSON.stringify(made, null, 2)}\n`);
  t.deepEqual(made, JSON.parse(readFileSync(MADE_OF, 'utf8')), 'run: npm run pictures');
  const files = [...Object.keys(PICTURES).map((name) => `${name}.png`), 'made-of.json'];
  t.deepEqual(readdirSync(FOLDER).toSorted(), files.toSorted());
});

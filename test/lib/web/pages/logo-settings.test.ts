// The logo in the console: an image as a file of a form, an address, or none.

import test from 'ava';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';

const PATH = '/settings/customization';
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A form with a file, as browsers send it. */
function withFile(token: string, type: string, bytes: Buffer): Buffer {
  const part = (head: string, body: Buffer | string) =>
    Buffer.concat([
      Buffer.from(`--edge\r\n${head}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]);
  return Buffer.concat([
    part('Content-Disposition: form-data; name="csrf_token"', token),
    part('Content-Disposition: form-data; name="do"', 'image'),
    part(
      `Content-Disposition: form-data; name="image"; filename="logo"\r\nContent-Type: ${type}`,
      bytes,
    ),
    Buffer.from('--edge--\r\n'),
  ]);
}

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change the logo`, async (t) => {
    await checkGuard(t, await openConsole(t, kind), { pages: [PATH], forms: [PATH] });
  });

  test(`${kind}: an image is taken as a file, one that may hold scripts is not`, async (t) => {
    const { admin, server, database } = await openConsole(t, kind);
    await admin.get(PATH);
    const upload = (type: string, bytes: Buffer, token = admin.token) =>
      server.inject({
        method: 'POST',
        url: PATH,
        headers: {
          ...admin.headers,
          cookie: [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          'content-type': 'multipart/form-data; boundary=edge',
        },
        payload: withFile(token, type, bytes),
      });
    const png = Buffer.from(PIXEL, 'base64');
    t.is((await upload('image/png', png, 'x')).statusCode, 403, 'without its token');
    t.is((await upload('image/png', png)).statusCode, 303);
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.deepEqual(row.logo, { url: null, data: PIXEL, type: 'image/png' });
    t.true((await admin.get(PATH)).text.includes('alt="The present logo"'));
    for (const [type, bytes] of [
      ['image/svg+xml', Buffer.from('<svg/>')],
      ['text/html', png],
      ['image/png', Buffer.alloc(0)],
      ['image/png', Buffer.alloc(1_048_577, 1)],
    ] as const) {
      const answer = await upload(type, bytes);
      t.is(answer.statusCode, 422, type);
      t.true(answer.payload.includes('The logo is invalid'), type);
    }
    t.is((await upload('image/png', Buffer.alloc(3_000_000))).statusCode, 413);
    t.deepEqual((await row.reload()).logo.data, PIXEL);
    t.is((await admin.post(PATH, { do: 'none' })).status, 303);
    t.deepEqual((await row.reload()).logo, {});
  });

  test(`${kind}: an address is checked, shown again, and text`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get(PATH);
    const bad = await admin.post(PATH, { do: 'url', url: `javascript:${NASTY}` });
    t.is(bad.status, 422);
    checkText(t, bad, 'the form');
    await admin.post(PATH, { do: 'url', url: 'https://cdn.example.com/logo.png' });
    const { text, headers } = await admin.get(PATH);
    t.true(text.includes('src="https://cdn.example.com/logo.png"'));
    t.regex(String(headers['content-security-policy']), /img-src[^;]* https:\/\/cdn\.example\.com/);
  });

  test(`${kind}: a logo that the environment fixes is locked`, async (t) => {
    const { admin } = await openConsole(t, kind, { LOGO: '{"url":"https://x.example/l.png"}' });
    const { text } = await admin.get(PATH);
    t.true(text.includes('Fixed by the environment variable LOGO'));
    t.false(text.includes('type="file"'));
    t.is((await admin.post(PATH, { do: 'none' })).status, 422);
  });
}

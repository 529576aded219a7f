// What pages say of a quota: to the user in the portal, and to administrators.

import test from 'ava';
import { monthOf, recordQuotaUsage } from '../../../../models/index.ts';
import { quotaView } from '../../../../lib/web/parts/quota.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openConsole } from '../../../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-000000000001';

for (const kind of firstKind()) {
  test(`${kind}: the quota of the user counts, else the default, else there is none`, async (t) => {
    const { database, plainUser, services } = await openConsole(t, kind);
    const recall = { refresh: async () => {}, configuration: async () => ({ default_quota }) };
    const web = { services, recall };
    let default_quota: number | null = null;
    const { id } = plainUser;
    const now = new Date('2026-12-31T23:59:59.999Z');
    await recordQuotaUsage(database, GATEWAY, [{ userId: id, month: 202_612, bytes: 2_000_000 }]);
    const view = (quota: number | null) => quotaView(web as never, { id, quota }, now);
    const until = '2027-01-01T00:00:00.000Z';
    const used = '2.0\u00a0MB';
    t.deepEqual(await view(null), { used, quota: null, isDefault: true, isExceeded: false, until });
    t.like(await view(2_000_000), { quota: used, isDefault: false, isExceeded: true });
    default_quota = 2_000_001;
    t.like(await view(null), { used, quota: '2.0\u00a0MB', isDefault: true, isExceeded: false });
    t.like(await view(1_000_000), { quota: '1.0\u00a0MB', isDefault: false, isExceeded: true });
  });

  test(`${kind}: an administrator sets it, and both see what was used of it`, async (t) => {
    const { admin, user, database, plainUser } = await openConsole(t, kind);
    const { id, email } = plainUser;
    const here = `/users/${id}`;
    const month = monthOf(Date.now());
    await recordQuotaUsage(database, GATEWAY, [{ userId: id, month, bytes: 1_500_000 }]);
    t.regex((await admin.get(here)).text, /<dt>Traffic this month<\/dt><dd>1\.5\u00a0MB<\/dd>/);
    t.notRegex((await user.get('/user_devices')).text, /this month/);
    const typed = { email, role: 'unprivileged' };
    const refused = await admin.post(`${here}/edit`, { ...typed, quota: '3 GiB' });
    t.is(refused.status, 422);
    t.true(refused.text.includes('“3 GiB” is'), refused.text);
    t.is((await admin.post(`${here}/edit`, { ...typed, quota: '3GB' })).location, here);
    t.regex((await admin.get(here)).text, /<dd>1\.5\u00a0MB of 3\.0\u00a0GB<\/dd>/);
    t.regex(
      (await user.get('/user_devices')).text,
      /You used 1\.5\u00a0MB of 3\.0\u00a0GB this month\./,
    );
    t.is((await admin.post(`${here}/edit`, { ...typed, quota: '' })).location, here);
    await admin.get('/settings/limits');
    const saved = await admin.post('/settings/limits', { default_quota: '1000000' });
    t.is(saved.status, 303, saved.text);
    const page = await admin.get(here);
    t.regex(page.text, /1\.5\u00a0MB of 1\.0\u00a0MB <span class="help">by default<\/span>/);
    t.regex(page.text, /nothing passes/);
    const portal = await user.get('/user_devices');
    t.regex(
      portal.text,
      /You used 1\.5\u00a0MB of 1\.0\u00a0MB this month\. Your devices reach nothing but/,
    );
  });
}

// What a person may do with their own devices, by role and configuration.

import test from 'ava';
import type { Request } from '@hapi/hapi';
import { EVERYTHING } from '../../../../lib/web/parts/device-form.ts';
import { deviceRights, rightsToManage } from '../../../../lib/web/parts/own-devices.ts';
import { PageError } from '../../../../lib/kit/http/page-error.ts';
import type { Web } from '../../../../lib/web/kit/web.ts';

const web = (management: boolean, configuration: boolean) =>
  ({
    recall: {
      refresh: async () => undefined,
      configuration: async () => ({
        allow_unprivileged_device_management: management,
        allow_unprivileged_device_configuration: configuration,
      }),
    },
  }) as unknown as Web;
const by = (role: string) => ({ auth: { credentials: { user: { role } } } }) as unknown as Request;

for (const [management, configuration, mayManage, maySetNetwork] of [
  [true, true, true, true],
  [true, false, true, false],
  [false, true, false, false],
  [false, false, false, false],
] as const)
  test(`management ${management}, configuration ${configuration}`, async (t) => {
    const rights = { mayManage, maySetNetwork, isAdministrator: false };
    const here = web(management, configuration);
    t.deepEqual(await deviceRights(here, by('unprivileged')), rights);
    t.deepEqual(await deviceRights(here, by('admin')), { mayManage: true, ...EVERYTHING });
    if (mayManage) t.deepEqual(await rightsToManage(here, by('unprivileged')), rights);
    else await t.throwsAsync(rightsToManage(here, by('unprivileged')), { instanceOf: PageError });
  });

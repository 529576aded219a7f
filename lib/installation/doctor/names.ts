// The doctor on names that the settings hold: whether the proxies of TRUSTED_PROXIES are found.

import { lookup } from 'node:dns/promises';
import type { Config } from '../../../config/index.ts';
import { namesOfProxies } from '../../kit/http/trusted-proxies.ts';
import { messageOf } from '../../kit/process/message.ts';
import { type Finding, ok, warning } from './finding.ts';

/** A finding for each name of a proxy. */
export function names({ trustedProxies }: Pick<Config, 'trustedProxies'>): Promise<Finding[]> {
  const check = 'trusted proxies';
  return Promise.all(
    namesOfProxies(trustedProxies).map(async (name) => {
      try {
        return ok(check, `${name} is ${(await lookup(name)).address}`);
      } catch (error) {
        return warning(
          check,
          `no proxy is trusted by the name ${name}: ${messageOf(error)}`,
          'start the proxy, or set TRUSTED_PROXIES to its address',
        );
      }
    }),
  );
}

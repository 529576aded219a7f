// Asks why a device cannot connect, and which senders are unknown, of all that the server of this
// process knows: for API and console.

import type { Config } from '../../../config/index.ts';
import type { Database } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { Recall } from '../../kit/records/recall.ts';
import {
  diagnose,
  type Diagnosed,
  type DiagnosingGateway,
  devicesOfKeys,
  showSender,
} from './diagnose.ts';
import type { Diagnosis, ShownSenders } from './fields.ts';

/** Who is asked. */
export interface Asked {
  readonly config: Config;
  readonly database: Database;
  /** Left out where there is no data plane. */
  readonly diagnosing?: DiagnosingGateway;
}

/** Says why a device cannot connect; `service_unavailable` where there is no data plane. */
export async function askDiagnosis(
  { config, database, diagnosing: gateway }: Asked,
  recall: Recall,
  device: Diagnosed,
): Promise<Diagnosis> {
  if (gateway === undefined) throw new ApiError('service_unavailable');
  await recall.refresh();
  const configuration = await recall.configuration();
  return diagnose({ config, configuration, database, gateway }, device);
}

/** Lists unknown senders; `service_unavailable` where there is no data plane. */
export async function askUnknownSenders({
  database,
  diagnosing,
}: Pick<Asked, 'database' | 'diagnosing'>): Promise<ShownSenders> {
  if (diagnosing === undefined) throw new ApiError('service_unavailable');
  const found = await diagnosing.ask('unknownSenders');
  const owners = await devicesOfKeys(database, found);
  return {
    keys: found.keys.map((one) => showSender(one, owners)),
    other_gateway: found.otherGateway.map((one) => showSender(one, owners)),
    gateway_id: diagnosing.id,
  };
}

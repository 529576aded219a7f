// Asks why a device cannot connect, and who is unknown, with what the server of this process knows:
// for API and console. The gateway gets a limited time: a page must not wait for a worker that
// hangs.

import type { Config } from '../../config/index.ts';
import type { Database } from '../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import type { Recall } from '../records/recall.ts';
import {
  diagnose,
  type Diagnosed,
  type Diagnosis,
  type DiagnosingGateway,
  devicesOfKeys,
  type ShownSender,
  showSender,
} from './diagnose.ts';

/** Who is asked. */
export interface Asked {
  readonly config: Config;
  readonly database: Database;
  /** Left out where there is no data plane. */
  readonly diagnosing?: DiagnosingGateway;
}

/** Unknown senders, as they are shown. */
export interface ShownSenders {
  readonly keys: readonly ShownSender[];
  readonly other_gateway: readonly ShownSender[];
  readonly gateway_id: string;
}

/** How long the gateway may take. */
const PATIENCE_MS = 2_000;

/** Says why a device cannot connect; `service_unavailable` where the gateway does not answer. */
export async function askDiagnosis(
  { config, database, diagnosing }: Asked,
  recall: Recall,
  device: Diagnosed,
): Promise<Diagnosis> {
  if (diagnosing === undefined) throw new ApiError('service_unavailable');
  await recall.refresh();
  const configuration = await recall.configuration();
  const gateway: DiagnosingGateway = {
    ...diagnosing,
    diagnose: (publicKey) => inTime(diagnosing.diagnose(publicKey)),
    unknownSenders: () => inTime(diagnosing.unknownSenders()),
  };
  return diagnose({ config, configuration, database, gateway }, device);
}

/** Lists unknown senders; `service_unavailable` where the gateway does not answer. */
export async function askUnknownSenders({
  database,
  diagnosing,
}: Pick<Asked, 'database' | 'diagnosing'>): Promise<ShownSenders> {
  if (diagnosing === undefined) throw new ApiError('service_unavailable');
  const found = await inTime(diagnosing.unknownSenders());
  const owners = await devicesOfKeys(database, found);
  return {
    keys: found.keys.map((one) => showSender(one, owners)),
    other_gateway: found.otherGateway.map((one) => showSender(one, owners)),
    gateway_id: diagnosing.id,
  };
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ApiError('service_unavailable')), PATIENCE_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

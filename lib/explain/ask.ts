// Asks what becomes of a packet, with what the server of this process knows: for API and console.

import type { Config } from '../../config/index.ts';
import type { Database } from '../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import type { Recall } from '../records/recall.ts';
import type { ExplainingGateway } from './elsewhere.ts';
import { explain, type HostSeen } from './explain.ts';
import type { Answer } from './fields.ts';
import type { AskedPacket } from './question.ts';

/** Who is asked. */
export interface Asked {
  readonly config: Config;
  readonly database: Database;
  /** Left out where there is no data plane. */
  readonly explaining?: ExplainingGateway;
  readonly checkup?: Pick<HostSeen, 'findings'> & Partial<HostSeen>;
}

/** Explains what becomes of a packet; `service_unavailable` where there is no data plane. */
export async function askExplanation(
  { config, database, explaining: gateway, checkup }: Asked,
  recall: Recall,
  asked: AskedPacket,
): Promise<Answer> {
  if (gateway === undefined) throw new ApiError('service_unavailable');
  await recall.refresh();
  const configuration = await recall.configuration();
  const host = { findings: () => checkup?.findings() ?? [], routeTo: checkup?.routeTo ?? noFault };
  return explain({ config, configuration, database, gateway, host }, asked);
}

async function noFault(): Promise<null> {
  return null;
}

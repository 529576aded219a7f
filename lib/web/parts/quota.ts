// What a user carried this month, and how much they may, for their page and for the portal.

import type { StateFacts, UserRow } from '../../../models/index.ts';
import { readQuotaState } from '../../reconcile/quota-state.ts';
import type { Web } from '../kit/web.ts';
import { bytesInWords } from '../kit/words.ts';

/** What pages say of a quota. */
export interface QuotaView {
  readonly used: string;
  /** Null: there is none. */
  readonly quota: string | null;
  /** Whether the settings say it, and not the user's own field. */
  readonly isDefault: boolean;
  readonly isExceeded: boolean;
  /** When the next month begins. */
  readonly until: string;
}

/** What a user has carried of their quota. */
export async function quotaView(
  { services, recall }: Pick<Web, 'services' | 'recall'>,
  user: Pick<UserRow, 'id' | 'quota'>,
  now = new Date(),
): Promise<QuotaView> {
  await recall.refresh();
  const configuration = await recall.configuration();
  const state = await readQuotaState(services.database, user, configuration, now.getTime());
  const { quota, used, isUsedUp } = state;
  return {
    used: bytesInWords(used),
    quota: quota === null ? null : bytesInWords(quota),
    isDefault: user.quota === null,
    isExceeded: isUsedUp,
    until: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString(),
  };
}

/** What decides which users are over their quota. */
export async function quotaFacts({ recall }: Pick<Web, 'recall'>): Promise<StateFacts> {
  await recall.refresh();
  return { defaultQuota: (await recall.configuration()).default_quota };
}

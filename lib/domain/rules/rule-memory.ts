// All rules in memory, for questions that are asked while a person types: they are read again only
// after a rule was changed, and no such question asks the database for rules.

import {
  type Database,
  extentOf,
  readGroupsOfUsers,
  readRules,
  type RuleExtent,
  type RuleRow,
  shareAPacket,
} from '../../../models/index.ts';
import type { Recall } from '../../kit/records/recall.ts';

/** Rules as the recall remembers them. */
export class RuleMemory {
  readonly #database: Database;
  readonly #recall: Recall;

  constructor(database: Database, recall: Recall) {
    this.#database = database;
    this.#recall = recall;
  }

  /** The rule with an id; null: there is none. */
  async find(id: string): Promise<RuleRow | null> {
    return (await this.all()).find((rule) => rule.id === id) ?? null;
  }

  /** The first rules in force that match some packets of an extent. */
  async touching(extent: RuleExtent, nowMs: number, limit: number): Promise<RuleRow[]> {
    const { user_id: userId, group_id: groupId } = extent;
    const groups = userId === null ? [] : await this.#groupsOf(userId);
    const concerns = (rule: RuleRow): boolean => {
      if (rule.user_id === null && rule.group_id === null) return true;
      if (userId !== null)
        return (
          rule.user_id === userId || (rule.group_id !== null && groups.includes(rule.group_id))
        );
      return groupId === null || rule.group_id === groupId;
    };
    const found: RuleRow[] = [];
    for (const rule of await this.all()) {
      if (found.length === limit) break;
      if (!rule.enabled || !rule.enforced || !concerns(rule)) continue;
      if (shareAPacket(extentOf(rule, nowMs), extent)) found.push(rule);
    }
    return found;
  }

  /** All rules, the oldest first. */
  async all(): Promise<readonly RuleRow[]> {
    const read = async () => {
      const value = (await readRules(this.#database)).toSorted(byAge);
      return { value, sources: [{ table: 'rules' as const }] };
    };
    return (await this.#recall.read('rules of all', read)) ?? [];
  }

  async #groupsOf(userId: string): Promise<readonly string[]> {
    const read = async () => {
      const groups = await readGroupsOfUsers(this.#database, [userId]);
      const sources = [{ table: 'group_memberships' as const, id: userId }];
      return { value: groups.get(userId) ?? [], sources };
    };
    return (await this.#recall.read(`groups of ${userId}`, read)) ?? [];
  }
}

function byAge(a: RuleRow, b: RuleRow): number {
  return a.inserted_at.getTime() - b.inserted_at.getTime() || (a.id < b.id ? -1 : 1);
}

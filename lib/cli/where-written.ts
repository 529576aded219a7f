// Where each command writes: at the gateway that runs here, or on the database.

import type { CommandName } from './grammar.ts';

/**
 * `gateway`: the gateway that runs here performs the operations of the command, or the command does
 * so itself where none runs. `urgent`: the same, but on the database where that gateway hangs or is
 * of another version with the same schema. `database`: always there, but never beside a gateway of
 * another schema.
 */
export type WhereWritten = 'gateway' | 'urgent' | 'database';

const names: Readonly<Record<WhereWritten, readonly CommandName[]>> = {
  gateway: [
    'user create',
    'user enrol',
    'user set-password',
    'user enable',
    'user limit',
    'user set-role',
    'user rename',
    'user delete',
    'device create',
    'device enable',
    'device expire',
    'device limit',
    'device route',
    'device delete',
    'token create',
    'rule create',
    'rule update',
    'rule enable',
    'group create',
    'group update',
    'group delete',
    'group add',
    'group remove',
    'policy-test create',
    'policy-test delete',
    'configuration set',
    'provider trust',
    'provider distrust',
    'provider relink',
    'provider refresh',
    'provider drop-certificate',
  ],
  urgent: [
    'admin create-or-reset',
    'user disable',
    'user unlock',
    'user reset-mfa',
    'device disable',
    'token revoke',
    'rule disable',
    'rule delete',
  ],
  database: [
    'keys rotate',
    'import wg-quick',
    'import wg-easy',
    'import firezone',
    'database compact',
  ],
};

const places = new Map(
  Object.entries(names).flatMap(([place, words]) =>
    words.map((word) => [word, place as WhereWritten] as const),
  ),
);

/** Where a command writes; null: it writes no records, or looks itself at who runs. */
export function whereWritten(words: CommandName): WhereWritten | null {
  return places.get(words) ?? null;
}

// What a command of the command line is given, and what it returns.

import type { Config } from '../../config/index.ts';
import type { Database } from '../../models/index.ts';
import type { PerformsOperations } from './gateway-here.ts';
import type { CommandName } from './grammar.ts';
import type { CommandRooms } from './rooms.ts';
import type { Screen } from './text-table.ts';

/** Options that a command may take; those that are booleans here, and `help`, take no value. */
export interface Options {
  readonly email?: string;
  readonly name?: string;
  /** The id of a record. */
  readonly id?: string;
  readonly days?: number;
  /** The scopes of a token, with commas between. */
  readonly scopes?: string;
  /** The networks behind a device, with commas between. */
  readonly routes?: string;
  readonly hours?: number;
  /** How many are kept, the newest. */
  readonly keep?: number;
  /** A list that is read; `-` for standard input. */
  readonly file?: string;
  /** From this time on. */
  readonly since?: Date;
  /** As many at most. */
  readonly limit?: number;
  /** The time that is asked about, and the seconds of one line. */
  readonly from?: Date;
  readonly to?: Date;
  readonly step?: string;
  /** When it ends; null for never. */
  readonly at?: Date | null;
  /** The day of which `at` is the start, where no time was typed. */
  readonly atDay?: string;
  readonly role?: string;
  /** Limits to and from a device, in bits per second; the rules of the API validate them. */
  readonly down?: string;
  readonly up?: string;
  /** Bytes in a month, likewise. */
  readonly quota?: string;
  readonly destination?: string;
  readonly action?: string;
  readonly portType?: string;
  readonly portRange?: string;
  readonly description?: string;
  /** For a rule: it decides from the first time on, and until the second; null: no such time. */
  readonly startsAt?: Date | null;
  readonly endsAt?: Date | null;
  readonly expect?: string;
  readonly json: boolean;
  readonly noPassword: boolean;
  readonly qr: boolean;
  readonly passwordStdin: boolean;
  readonly resetMfa: boolean;
  /** Replaces what exists. */
  readonly replace: boolean;
  /** Validates, and writes nothing. */
  readonly dryRun: boolean;
  /** Devices that are online; for keys: while gateways run. */
  readonly online: boolean;
  /** Devices whose client's file is out of date. */
  readonly outdated: boolean;
  /** The user who owns the devices. */
  readonly owner?: string;
  /** How long devices made no handshake, as it was typed. */
  readonly stale?: string;
  /** By what devices are sorted. */
  readonly sort?: string;
  /** Makes the user who does not exist. */
  readonly createUser: boolean;
  /** Makes what decides nothing until it is enabled. */
  readonly disabled: boolean;
  /** For a rule: it decides nothing, and the packets that it would decide are counted. */
  readonly staged: boolean;
  /** For a rule: it decides. */
  readonly enforced: boolean;
  /** Writes although policy tests fail then. */
  readonly force: boolean;
  /** All people, in place of one. */
  readonly everyone: boolean;
  /** Which packets; the gateway validates the typed values. */
  readonly protocol?: string;
  readonly port?: string;
  readonly snaplen?: string;
  readonly duration?: string;
  readonly bytes?: string;
  readonly source?: string;
  readonly size?: string;
  /** Whole packets. */
  readonly payload: boolean;
  readonly onlyRefused: boolean;
  /** The id, the address or the name of a device. */
  readonly device?: string;
  /** The e-mail of a user. */
  readonly user?: string;
  /** The id or the name of a group. */
  readonly group?: string;
  /** The id of a rule. */
  readonly rule?: string;
  /** Why packets were refused. */
  readonly reason?: string;
  /** Goes on, and shows the whole list as it is by then. */
  readonly watch: boolean;
  /** Goes on and shows what comes. */
  readonly follow: boolean;
  /** What has ended, instead of what is alive. */
  readonly ended: boolean;
  /** Prints a file for spreadsheets. */
  readonly csv: boolean;
  /** Sends what was made to its person. */
  readonly mail: boolean;
  /** Asks nobody. */
  readonly yes?: true;
}

/** What was asked for. */
export interface Command {
  readonly words: CommandName;
  /** What follows the words, an id say; the first where there are more. */
  readonly operand: string | null;
  /** All that follows the words. */
  readonly operands: readonly string[];
  readonly options: Options;
}

/** What a command says: text for people, data for programs. */
export interface Outcome {
  readonly text: string;
  /** What a terminal gets in place of the text; control characters of users are replaced in it. */
  readonly onScreen?: (screen: Screen) => string;
  /** What is printed below the text as it is, colours too; it holds nothing that users wrote. */
  readonly picture?: string;
  readonly data: unknown;
  /** What people should know besides; not on standard output. */
  readonly note?: string;
  /** Whether all that is for standard output is there already. */
  readonly isWritten?: boolean;
  /** True: the command ends with 1, though it did what it was asked for. */
  readonly isBad?: true;
}

/** What a command needs that goes on and on. */
export interface Following {
  /** Prints what there is by now. */
  readonly say: (outcome: Outcome) => void;
  /** Waits until it is time to look again; false ends the command. */
  readonly pause: () => Promise<boolean>;
}

/** What a command works with. */
export interface Given {
  /** The settings of this process; a gateway that runs may have others. */
  readonly config: Config;
  readonly database: Database;
  readonly readStdin: () => Promise<string>;
  /** The rooms of the domain, which are made once for a command, when it first asks for them. */
  readonly rooms: () => Promise<CommandRooms>;
  /** The gateway that performs the operations; null: the rooms of the command do. */
  readonly gateway: PerformsOperations | null;
}

/** What a command does that works on the database. */
export type Run = (given: Given, command: Command) => Promise<Outcome>;

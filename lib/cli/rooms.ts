// The rooms of the domain for commands: made on the database that the command opened, once for a
// command, with the settings of the gateway that runs. A room is loaded when a command needs it.

import { type Config, withOpenSettings } from '../../config/index.ts';
import { derivePublicKey } from '../../dataplane/index.ts';
import type { Database } from '../../models/index.ts';
import { fixedIfAny } from '../domain/configuration/fixed-if-any.ts';
import { knownServerPrivateKey } from '../installation/setup/first-start.ts';
import { runningGateway } from '../installation/setup/running-gateway.ts';
import {
  type CommandAnswer,
  type CommandRequest,
  performForCommand,
} from '../kit/operations/for-commands.ts';
import type { Operation } from '../kit/operations/operation.ts';
import { type OperationName, places } from '../kit/operations/places.ts';
import type { Caller } from '../kit/process/caller.ts';
import { Counters } from '../kit/process/counters.ts';
import type { Log } from '../kit/process/log.ts';
import type { RecordContext } from '../kit/records/collection.ts';
import { Recall } from '../kit/records/recall.ts';
import { Writes } from '../kit/records/writes.ts';

/** What rooms are made of. */
interface CommandContext extends RecordContext {
  readonly services: RecordContext['services'] & {
    readonly log: Log;
    readonly counters: Counters;
  };
  /** The public key of the gateway, base64; empty where it has none yet. */
  readonly serverPublicKey: () => Promise<string>;
}

/** Performs the operations of a room. */
type Room = (caller: Caller, request: CommandRequest) => Promise<CommandAnswer>;

/** Rooms by the first part of the paths of their operations. */
const loaders: Readonly<Record<string, (context: CommandContext) => Promise<Room>>> = {
  async devices(context) {
    const { Devices } = await import('../domain/devices/devices.ts');
    const { deviceOperations } = await import('../domain/devices/operations.ts');
    const services = { ...context.services, serverPublicKey: '' };
    const room = roomOf(deviceOperations, { devices: new Devices({ ...context, services }) });
    return async (caller, request) => {
      // A new device may not have the key of the gateway; other commands need not derive it.
      if (request.operation === 'createDevice')
        services.serverPublicKey = await context.serverPublicKey();
      return room(caller, request);
    };
  },
  async users(context) {
    const { Users } = await import('../domain/users/users.ts');
    const { userOperations } = await import('../domain/users/operations.ts');
    return roomOf(userOperations, { users: new Users(context) });
  },
  async enrolments(context) {
    const { Enrolments } = await import('../domain/enrolment/enrolment.ts');
    const { enrolmentOperations } = await import('../domain/enrolment/operations.ts');
    return roomOf(enrolmentOperations, { enrolments: new Enrolments(context) });
  },
  async groups(context) {
    const { Groups } = await import('../domain/groups/groups.ts');
    const { Members } = await import('../domain/groups/members.ts');
    const { groupOperations } = await import('../domain/groups/operations.ts');
    return roomOf(groupOperations, { groups: new Groups(context), members: new Members(context) });
  },
  async rules(context) {
    const { Rules } = await import('../domain/rules/rules.ts');
    const { ruleOperations } = await import('../domain/rules/operations.ts');
    return roomOf(ruleOperations, { rules: new Rules(context) });
  },
  async policy_tests(context) {
    const { PolicyTests } = await import('../domain/policy-tests/policy-tests.ts');
    const { policyTestOperations } = await import('../domain/policy-tests/operations.ts');
    return roomOf(policyTestOperations, { policyTests: new PolicyTests(context) });
  },
  async api_tokens(context) {
    const { ApiTokens } = await import('../auth/api-tokens.ts');
    const { apiTokenOperations } = await import('../auth/operations.ts');
    return roomOf(apiTokenOperations, { apiTokens: new ApiTokens(context) });
  },
  async accounts(context) {
    const { Accounts } = await import('../auth/accounts.ts');
    const { ApiTokens } = await import('../auth/api-tokens.ts');
    const { accountOperations } = await import('../auth/operations.ts');
    const rooms = { accounts: new Accounts(context), apiTokens: new ApiTokens(context) };
    return roomOf(accountOperations, rooms);
  },
  configuration,
  trusted_providers: configuration,
  saml_metadata: configuration,
};

async function configuration(context: CommandContext): Promise<Room> {
  const { configurationOperations } = await import('../domain/configuration/operations.ts');
  return roomOf(configurationOperations, { configuration: context });
}

function roomOf<Rooms>(operations: readonly Operation<Rooms>[], rooms: Rooms): Room {
  return async (caller, { operation: name, ...request }) => {
    const found = operations.find(({ id }) => id === name);
    if (found?.kind !== 'write') throw new Error(`no room writes by ${name}`);
    return performForCommand(found, rooms, caller, request);
  };
}

/** The rooms of one command. */
export class CommandRooms {
  readonly #config: Config;
  readonly #database: Database;
  readonly #rooms = new Map<string, Promise<Room>>();
  #context: Promise<CommandContext> | undefined;

  /** `config`: the settings of this process. */
  constructor(config: Config, database: Database) {
    this.#config = config;
    this.#database = database;
  }

  /** What rooms are made of, with the settings of the gateway that runs, where one runs. */
  context(): Promise<CommandContext> {
    return (this.#context ??= makeContext(this.#config, this.#database));
  }

  /** The room that has an operation. */
  room(name: OperationName): Promise<Room> {
    const [, , first = ''] = places[name].path.split('/');
    const load = loaders[first];
    if (load === undefined) throw new Error(`no room is at ${places[name].path}`);
    const room = this.#rooms.get(first) ?? this.context().then(load);
    this.#rooms.set(first, room);
    return room;
  }
}

async function makeContext(own: Config, database: Database): Promise<CommandContext> {
  const running = await runningGateway(database);
  const config = running === null ? own : withOpenSettings(own, running.settings);
  const fixed = await fixedIfAny(config);
  return {
    services: { config, database, log: QUIET, counters: new Counters() },
    serverPublicKey: async () => running?.publicKey ?? ownPublicKey(config, database),
    recall: new Recall(database, fixed),
    writes: new Writes(database),
    fixed,
  };
}

async function ownPublicKey(config: Config, database: Database): Promise<string> {
  const key = await knownServerPrivateKey(config, database);
  return key === null ? '' : Buffer.from(derivePublicKey(key)).toString('base64');
}

function ignore(): void {}

/** A command says itself what went wrong. */
const QUIET: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

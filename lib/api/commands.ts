// The addresses for commands of this host, which no client of the network reaches: one says which
// program the gateway is, the other performs an operation. A command asks the first one before it
// sends a write, so that a gateway of another version, or one on another database, is sent none.
// docs/api.md#the-socket-for-commands.

import { randomUUID } from 'node:crypto';
import type { Plugin } from '@hapi/hapi';
import type { Config } from '../../config/index.ts';
import { databaseIdentity, isDatabaseFull, isDatabaseReadOnly } from '../../models/index.ts';
import { sayError } from '../kit/database/say-error.ts';
import { ApiError } from '../kit/http/errors.ts';
import { isLocal } from '../kit/http/local-socket.ts';
import { callerOf } from '../kit/http/request-caller.ts';
import { isSameBuild, ownBuild } from '../kit/operations/build.ts';
import {
  ABOUT_GATEWAY,
  type AboutGateway,
  type AddressedRequest,
  PERFORM,
  performForCommand,
} from '../kit/operations/for-commands.ts';
import { writeNamed } from '../kit/operations/find.ts';
import { places } from '../kit/operations/places.ts';
import { LAUNCHER } from '../kit/process/command-line.ts';
import { joi } from '../kit/validation/fields.ts';
import { messages } from '../kit/validation/messages.ts';
import { allOperations, type Rooms } from '../rooms.ts';
import type { Services } from '../services.ts';
import { BODY_BYTES_MAX, readJson, takesJson } from './body.ts';

/** What the addresses need. */
export interface ForCommands {
  readonly config: Config;
  readonly services: Pick<Services, 'database'>;
  readonly rooms: Rooms;
}

/** Members of a group are the longest that somebody can type. */
const COMMAND_BYTES_MAX = 4 * BODY_BYTES_MAX;

const text = joi.string().allow('').required();
const requestSchema = joi.object({
  gateway: joi.object({ instance: text, version: text, schema: text, commands: text }).required(),
  operation: joi.valid(...Object.keys(places)).required(),
  params: joi.object().pattern(joi.string(), text).allow(null).required(),
  validatesFirst: joi.boolean().strict().required(),
  force: joi.boolean().strict().required(),
  body: joi.object().unknown(),
});

/** Adds the two addresses. */
export const forCommands: Plugin<ForCommands> = {
  name: 'for-commands',
  register(server, { services: { database }, rooms, config }) {
    const instance = randomUUID();
    // Files that are replaced later are not what runs here.
    const own = ownBuild();
    server.auth.scheme('command', () => ({
      authenticate(request, h) {
        // A web page whose name leads to a forwarded socket asks under that name.
        const isOfCommand = isLocal(request.raw.req) && request.headers['host'] === 'localhost';
        if (!isOfCommand) throw new ApiError('not_found');
        return h.authenticated({ credentials: {} });
      },
    }));
    server.auth.strategy('command', 'command');
    server.route({
      method: 'GET',
      path: ABOUT_GATEWAY,
      options: { auth: 'command' },
      async handler(): Promise<{ data: AboutGateway }> {
        const identity = await databaseIdentity(database);
        return { data: { ...own, instance, program: LAUNCHER, database: identity } };
      },
    });
    server.route({
      method: 'POST',
      path: PERFORM,
      options: { auth: 'command', ...takesJson(COMMAND_BYTES_MAX) },
      async handler(request) {
        const { gateway, operation, ...sent } = validated(readJson(request));
        if (gateway.instance !== instance || !isSameBuild(gateway, own))
          throw new ApiError('forbidden', { reason: 'local_write' });
        const found = writeNamed(allOperations, operation);
        try {
          return { data: await performForCommand(found, rooms, callerOf(request), sent) };
        } catch (error) {
          throw withFix(error, config);
        }
      },
    });
  },
};

/** A database that refuses to write has changed nothing: the command says so, and what to do. */
function withFix(error: unknown, config: Config): unknown {
  if (!isDatabaseReadOnly(error) && !isDatabaseFull(error)) return error;
  return new ApiError('service_unavailable', { cause: error, sentence: sayError(error, config) });
}

function validated(sent: unknown): AddressedRequest {
  const { error, value } = requestSchema.validate(sent, { convert: false });
  if (error === undefined) return value as AddressedRequest;
  const errors = { request: [messages.invalid] };
  throw new ApiError('unprocessable', { errors, detail: error.message });
}

// What the client offers. The types beside this file are made of the OpenAPI document.

import type { Client, ClientOptions } from 'openapi-fetch';
import type { paths } from './schema.js';

export type { components, operations, paths } from './schema.js';

/** Where the gateway is, and who asks. */
export interface Access {
  /** As people open the console: https://vpn.example.com */
  readonly url: string;
  /** An API token. */
  readonly token: string;
  /** In place of the global one. */
  readonly fetch?: ClientOptions['fetch'];
}

/** A client: `GET`, `POST`, `PATCH`, `PUT` and `DELETE`, each with a path of the API. */
export type PosternClient = Client<paths>;

/** Makes a client for one gateway. */
export declare function createClient(access: Access): PosternClient;

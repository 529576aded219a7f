// How the descriptors that this process may have are divided: one account, made when the gateway
// starts, for API and console, for the sockets of devices and for the relay. Devices that open as
// many connections as they may leave the API its own.

import { MAX_RELAYED } from '../constants.ts';
import { HOST_SOCKETS_MAX } from '../socket-contract.ts';
import { readFilesMax, readFilesOpen } from './system.ts';

/** Left for the database, the socket for `wg`, `nft`, providers and all else. */
const OTHER_FILES = 64;
/** The least number of connections of a listener, and of sockets: a gateway always starts. */
const LISTENER_MIN = 8;
const SOCKETS_MIN = 1;
/** More connections no listener has. */
const LISTENER_MAX = 2_048;
/** The listener of requests, that of commands of this host, and devices at the own address. */
const LISTENERS = 3;
/** Connections to the gateway's own address, of each worker, where no others leave by sockets. */
const DOORS_MAX = 1_024;

/** A relayed connection has one file for the device and one for the host. */
const FILES_OF_RELAYED = 2;
/** Left by the relay for all else. */
const UNRELAYED_FILES = 400;

/** What is divided. */
export interface Files {
  /** Null: no limit, or one that is not known. */
  readonly max: number | null;
  readonly open: number;
  /** TCP connections that the relay may carry at once; 0: there is none. */
  readonly relayed: number;
  /** Whether packets of devices leave by sockets. */
  readonly leaves: boolean;
  readonly workers: number;
}

/** What each may have. */
export interface FileLimits extends Pick<Files, 'max' | 'relayed'> {
  /** Connections of each listener, and of all devices together at the gateway's own address. */
  readonly connections: number;
  /** Sockets of each worker. */
  readonly sockets: number;
}

/** Divides descriptors. A connection at the own address has one at the listener, and a socket. */
export function divideFiles({ max, open, relayed, leaves, workers }: Files): FileLimits {
  const left = (max ?? Number.POSITIVE_INFINITY) - open - OTHER_FILES - FILES_OF_RELAYED * relayed;
  const part = Math.floor(left / (leaves ? 2 * LISTENERS + 2 : LISTENERS + 1));
  const connections = Math.max(LISTENER_MIN, Math.min(LISTENER_MAX, part));
  const share = Math.floor((left - LISTENERS * connections) / workers);
  const most = leaves ? HOST_SOCKETS_MAX : DOORS_MAX;
  const sockets = Math.max(SOCKETS_MIN, Math.min(most, share));
  return { max, connections, sockets, relayed };
}

/** What this process may have, and has open now. */
export function readFiles(): Pick<Files, 'max' | 'open'> {
  return { max: readFilesMax(), open: readFilesOpen() };
}

/** How many TCP connections may be relayed, where so many may be open. */
export function relayedWithin(max: number | null): number {
  if (max === null) return MAX_RELAYED;
  return Math.min(MAX_RELAYED, Math.max(1, Math.floor((max - UNRELAYED_FILES) / FILES_OF_RELAYED)));
}

// The setting FLOW_LOG: where what becomes of flows is reported.

import ipaddr from 'ipaddr.js';
import Joi from 'joi';
import { HOST_NAME } from './forms.ts';

/** A collector of IPFIX. */
export interface FlowCollector {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** The collector that `ipfix://HOST:PORT` names; null: it is not of this form. */
export function flowCollectorOf(text: string): FlowCollector | null {
  const found = /^ipfix:\/\/(?:\[([^\]]*)\]|([^:/[\]]*)):(\d{1,5})$/.exec(text);
  if (found === null) return null;
  const [, bracketed, plain = '', portText] = found;
  const host = bracketed ?? plain;
  const port = Number(portText);
  const isHost = bracketed === undefined ? isNameOrIpv4(plain) : ipaddr.IPv6.isValid(host);
  return isHost && port >= 1 && port <= 65_535 ? { host, port } : null;
}

function isNameOrIpv4(text: string): boolean {
  if (/^[\d.]+$/.test(text)) return ipaddr.IPv4.isValidFourPartDecimal(text);
  return HOST_NAME.test(text);
}

/** Nowhere, to the log, or to a collector. */
export const flowLog = Joi.string().custom((value: string, helpers) =>
  value === 'off' || value === 'log' || flowCollectorOf(value) !== null
    ? value
    : helpers.message({
        custom:
          'must be off, log, or ipfix://HOST:PORT with a name or an address (IPv6 in brackets) and a port from 1 to 65535',
      }),
);

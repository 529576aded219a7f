// The fuzz targets, by name. A target takes any bytes and throws when something is wrong; it may
// return text that says what came of them, which counts as a way of its own.

import { addresses } from './addresses.ts';
import { descriptors } from './descriptors.ts';
import { fragments } from './fragments.ts';
import { handshake } from './handshake.ts';
import { inner } from './inner.ts';
import { rings } from './rings.ts';
import { saml } from './saml.ts';
import { sockets } from './sockets.ts';
import { steering } from './steering.ts';
import { tcpMachine } from './tcp.ts';
import { tunnel } from './tunnel.ts';
import { uapi } from './uapi.ts';

export const targets: Readonly<Record<string, (input: Uint8Array) => string | void>> = {
  addresses,
  descriptors,
  fragments,
  handshake,
  inner,
  rings,
  saml,
  sockets,
  steering,
  tcp: tcpMachine,
  tunnel,
  uapi,
};

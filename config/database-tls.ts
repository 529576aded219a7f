// What the settings of TLS to the database must hold together, and what is said where the way to it
// is open to others.

import ipaddr from 'ipaddr.js';
import type { Config } from './config.ts';
import { hostOf } from './forms.ts';

/** Errors of the settings among themselves. */
export function databaseTlsErrors(config: Config): string[] {
  const { databaseTls, databaseTlsCa, databaseTlsCert, databaseTlsKey } = config;
  const errors: string[] = [];
  if ((databaseTlsCert === null) !== (databaseTlsKey === null))
    errors.push('DATABASE_TLS_CERT and DATABASE_TLS_KEY come together; set both or none');
  if (databaseTls === 'off' && [databaseTlsCa, databaseTlsCert].some((path) => path !== null))
    errors.push('DATABASE_TLS is off, so its files are not used; set it to verify, or unset them');
  const host = databaseHost(config);
  // A certificate could be valid for an address; the driver compares names alone.
  if (databaseTls === 'verify' && host !== null && ipaddr.isValid(host))
    errors.push(
      `DATABASE_TLS=verify compares the name of the server with its certificate, and ${host} is an address; name the server, or set DATABASE_TLS to required`,
    );
  return errors;
}

/** A warning where passwords and rows go over the internet in the clear. */
export function databaseTlsAdvice(config: Config): string[] {
  const host = databaseHost(config);
  if (config.databaseTls !== 'off' || host === null || !isPublicAddress(host)) return [];
  return [
    `The database is at the public address ${host}, and DATABASE_TLS is off: whoever is on the way reads and changes users, rules and passwords. Set DATABASE_TLS to verify, with DATABASE_TLS_CA`,
  ];
}

/** The host of the database server; null with SQLite. */
export function databaseHost({ databaseHost: host, databaseUrl }: Config): string | null {
  if (host !== null) return host;
  if (databaseUrl === null || databaseUrl.startsWith('sqlite:')) return null;
  return hostOf(databaseUrl);
}

/** A name may lead anywhere: nothing is said of it. */
function isPublicAddress(host: string): boolean {
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'unicast';
}

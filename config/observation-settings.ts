// The settings of what is kept, shown and reported of the gateway's work: the last rows of the
// table in schema.ts.

import Joi from 'joi';
import { choice, flag, metricsToken } from './forms.ts';
import { flowLog } from './flow-log.ts';
import { defaultMetricsAccess } from './metrics-access.ts';

/** Rows of the table of settings. */
export const observationSettings = [
  {
    name: 'AUDIT_RETENTION_DAYS',
    schema: Joi.number().integer().min(1).max(36500),
    fallback: 365,
    example: '365',
    sentence: 'Days after which entries of the audit trail are forgotten.',
  },
  {
    name: 'HISTORY_RETENTION',
    schema: Joi.number().integer().min(1).max(3660).allow('off'),
    fallback: 400,
    example: '400',
    sentence:
      'Days after which the history of traffic and of connections is forgotten, 1 to 3660; `off` keeps none, and deletes what there is.',
  },
  {
    name: 'FLOW_LOG',
    schema: flowLog,
    fallback: 'off',
    example: 'ipfix://collector.example.com:4739',
    sentence:
      'Where each flow that opens or ends and each refused packet is reported: nowhere (`off`), in the log (`log`), or to a collector of IPFIX over UDP (`ipfix://HOST:PORT`).',
  },
  {
    name: 'METRICS_ACCESS',
    schema: choice('loopback', 'token', 'off'),
    fallback: 'loopback',
    derive: defaultMetricsAccess,
    example: 'token',
    sentence:
      "Who may read `/metrics`: this host and whoever shows an administrator's token or `METRICS_TOKEN` (`loopback`), only the latter (`token`, the default where `EXTERNAL_URL` has another port than `HTTP_PORT`, for then a proxy on this host asks for everybody), nobody (`off`).",
  },
  {
    name: 'METRICS_TOKEN',
    schema: metricsToken,
    fallback: null,
    example: '32 characters of A-Z a-z 0-9 or more',
    sentence: 'A bearer token that opens `/metrics` and nothing else, for Prometheus.',
    secret: true,
  },
  {
    name: 'METRICS_PER_DEVICE',
    schema: flag,
    fallback: true,
    example: 'false',
    sentence:
      'Whether `/metrics` shows each device, with name, endpoint and addresses: some 2 kB of text each.',
  },
  {
    name: 'LOG_FORMAT',
    schema: choice('text', 'json'),
    fallback: null,
    example: 'json',
    sentence: 'Form of log lines; none means text on a terminal, JSON elsewhere.',
  },
  {
    name: 'LOG_LEVEL',
    schema: choice('trace', 'debug', 'info', 'warn', 'error'),
    fallback: 'info',
    example: 'info',
    sentence: 'Lowest level that is logged.',
  },
] as const;

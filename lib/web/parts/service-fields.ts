// The service that a packet asks for, as questions of a form.

import type { Asked } from '../kit/form.ts';

/** The questions for the service that a packet asks for. */
export const serviceFields: readonly Asked[] = [
  {
    name: 'protocol',
    label: 'Protocol',
    kind: 'choice',
    choices: [
      ['tcp', 'TCP'],
      ['udp', 'UDP'],
      ['icmp', 'ICMP (ping)'],
    ],
  },
  { name: 'port', label: 'Port', kind: 'number', help: 'With TCP or UDP: 443.' },
];

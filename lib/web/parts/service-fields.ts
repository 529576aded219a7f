// The service that a packet asks for, as questions of a form.

import type { FormError, FormErrors } from '../kit/plain-words.ts';
import { codeOf } from '../../kit/validation/messages.ts';
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

/** Errors of a form with these questions: one of a port may come of a protocol that has none. */
export function serviceErrors(errors: FormErrors): FormErrors {
  const { port } = errors;
  if (port === undefined) return errors;
  const words = (error: FormError): FormError =>
    codeOf(error) === 'notPresent' ? 'This protocol has no ports. Please leave this empty' : error;
  return { ...errors, port: (port as FormError[]).map(words) };
}

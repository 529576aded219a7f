// The errors of values, as pages say them. The sentences of /v0 (lib/kit/validation/messages.ts)
// cannot change, because programs compare them; pages say the same in plain words.

import type { Errors } from '../../kit/validation/validate.ts';
import {
  type FieldError,
  type FieldErrorCode,
  filled,
  isFieldError,
  sentenceOf,
} from '../../kit/validation/messages.ts';

/** An error of a form: a text is a sentence of its page. */
export type FormError = FieldError | string;

/** Errors by field of a form; `base` holds those that are about no single field. */
export type FormErrors = Errors<FormError>;

/** What pages say, by code; `{name}` stands for a value. */
const words: Readonly<Partial<Record<FieldErrorCode, string>>> = {
  blank: 'Please fill this in',
  invalid: 'This cannot be read. Please check it',
  looksTaken:
    'This looks like the address of another user. Please type another one, or change theirs first',
  taken: 'This is already in use. Please choose another one',
  absent: 'There is no such record',
  reserved: 'This one is reserved. Please choose another one',
  email: 'This is not an e-mail address',
  noMatch: 'The two entries are not the same',
  base64: 'This is not a WireGuard key: it has 44 characters and ends with =',
  badKey: 'This is not a WireGuard key: it has 44 characters and ends with =',
  notPresent: 'Leave this empty, or do not use the default',
  portInDns: 'Please give the address without a port',
  badPort: 'The port is not a number from 0 to 65535',
  duplicates: 'The same entry is there twice',
  badFormat: 'Please write ports as 443, or as 8000 - 8100',
  portOutOfRange: 'This port is not possible: the highest is 65535',
  portsReversed: 'The first port is higher than the last one',
  overlap: 'Another rule already means some of these packets',
  badJson: 'This is not valid JSON',
  membersShape: 'Please give the users to add, or those to remove',
  badTime: 'This is not a date with a time',
  endsBeforeStart: 'The end must be after the start',
  ofUserAlready: 'Please name a user or a group, not both; with neither the rule is for everyone',
  besidePorts: 'Please choose TCP or UDP to use ports, or leave the ports empty',
  uuidName: 'This is an id and not a name; please choose another name',
  badGroupNames: 'Please write a line for each group: its name at the provider, =>, its name here',
  groupsUnnamed: 'Please say where the provider names groups; the rest needs it',
  notTrusted: 'Please trust the provider first, and save; then name the group',
  atLeastCharacters: 'Please use at least {limit} characters',
  atMostCharacters: 'Please use at most {limit} characters',
  exactlyCharacters: 'This should have {limit} characters',
  atMostBytes: 'This is too long: at most {limit} bytes',
  atMostItems: 'Please give at most {limit} entries',
  oneOf: 'Please choose one of {words}',
  atLeast: 'Please give {limit} or more',
  atMost: 'Please give {limit} or less',
  noHostName:
    '“{host}” is neither an address nor the name of a host, such as 1.1.1.1 or vpn.example.com',
  notInNetwork: 'The address is not in the network of the devices, {network}',
  exhausted: 'All addresses of the network {network} are in use',
  lastWayIn:
    'No administrator could sign in any more, so nothing is changed. First add another identity provider, or let people sign in with e-mail and password',
  providersChanged: 'Somebody else changed the providers meanwhile; reload the page and try again',
  noDeviceCalled: 'No device is called “{name}”',
  noDeviceAt: 'No device has the address {address}',
  severalDevices: 'Several devices have this name. Please give an address: {addresses}',
  heldDevice:
    'An administrator switched the device off, or set the time at which it ended. Only administrators remove it or change its key; ask one of them',
  overridden: 'This is fixed by the environment variable {variable} of the gateway',
};

/** An error in plain words; one that has none is said as the API says it. */
export function plainWords(error: FormError): string {
  if (typeof error === 'string') return error;
  const plain = words[error.code];
  return plain === undefined ? sentenceOf(error) : filled(plain, error);
}

/** True for an error of a field of a form, and not for those of a record in a list. */
export function isFormError(error: FormError | object): error is FormError {
  return typeof error === 'string' || isFieldError(error);
}

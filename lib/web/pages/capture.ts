// The page on which administrators capture the packets of a device: a form, whose answer is the
// capture as a file that grows while it is downloaded. docs/api.md#capturing-packets.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { DeviceRow } from '../../../models/index.ts';
import { asCapture, captureFileName } from '../../observe/capture/answer.ts';
import { validateWish } from '../../observe/capture/wishes.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { readElsewhere } from '../../observe/whereabouts.ts';
import { formView, inputOf, type Section, type Typed, typedIn } from '../kit/form.ts';
import { adminPage } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';
import { deviceHead } from '../parts/device-head.ts';
import { findDevice } from './device.ts';

const captureForm: readonly Section[] = [
  {
    fields: [
      {
        name: 'duration',
        label: 'Seconds',
        kind: 'number',
        help: 'It ends after so many seconds, 3600 at most, or when you cancel the download.',
        isRequired: true,
      },
      {
        name: 'only',
        label: 'Which packets',
        kind: 'choice',
        choices: [
          ['', 'All packets'],
          ['refused', 'Only packets that are refused'],
        ],
      },
      {
        name: 'destination',
        label: 'Other end',
        help: 'Only packets to and from this address or network: 10.0.0.5, 10.0.0.0/8. Empty: any.',
      },
      {
        name: 'protocol',
        label: 'Protocol',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['tcp', 'TCP'],
          ['udp', 'UDP'],
          ['icmp', 'ICMP'],
        ],
      },
      { name: 'port', label: 'Port', kind: 'number', help: 'At either end. Empty: any.' },
      {
        name: 'payload',
        label: 'Whole packets',
        kind: 'box',
        help: 'Otherwise only the first 128 bytes of each packet, which are its headers. Whole packets contain what people send: protect the file.',
      },
    ],
  },
];

const FIRST: Typed = {
  duration: '60',
  only: '',
  destination: '',
  protocol: '',
  port: '',
  payload: 'false',
};

/** The routes of the page. */
export function capturePages(web: Web): ServerRoute[] {
  const path = '/devices/{id}/capture';
  return [
    adminPage('GET', path, async (request, h) =>
      showPage(web, await findDevice(web, request), FIRST, {}, request, h),
    ),
    adminPage('POST', path, (request, h) => capture(web, request, h)),
  ];
}

async function showPage(
  web: Web,
  device: DeviceRow,
  typed: Typed,
  errors: FormErrors,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { id, name } = device;
  const action = `/devices/${id}/capture`;
  const options = { action, submit: 'Capture', cancel: `/devices/${id}/packets`, errors };
  const { capturing, database } = web.services;
  const elsewhere =
    capturing === undefined ? null : await readElsewhere(database, capturing.id, [id]);
  return web.pages.show(request, h, 'capture', {
    title: 'Capture packets',
    head: await deviceHead(web, device, '/packets'),
    device: { name },
    elsewhere: elsewhere?.get(id) ?? null,
    form: formView(captureForm, typed, options),
  });
}

async function capture(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const typed = typedIn(request, captureForm);
  const { values, errors } = validateWish(inputOf(typed, captureForm));
  if (!hasNoErrors(errors)) {
    const page = await showPage(web, device, typed, errors, request, h);
    return page.code(422);
  }
  const stream = await web.captures.begin(callerOf(request), device, values);
  const name = captureFileName(device.name);
  const answer = asCapture(h.response(stream).code(200));
  return answer.header('content-disposition', `attachment; filename="${name}"`);
}

// A form: what was typed, what of it goes to the API's rules, and what is shown.

import test from 'ava';
import {
  formView,
  inputOf,
  membersOf,
  type Section,
  typedFrom,
  typedIn,
} from '../../../../lib/web/kit/form.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';

const sections: readonly Section[] = [
  {
    fields: [
      { name: 'name', label: 'Name', isRequired: true },
      { name: 'is_on', label: 'On', kind: 'box' },
    ],
  },
  {
    legend: 'More',
    fields: [
      { name: 'dns', label: 'DNS', kind: 'list' },
      { name: 'key', label: 'Key', kind: 'secret' },
      { name: 'mtu', label: 'MTU', kind: 'number' },
    ],
  },
];

interface View {
  base: string[];
  sections: { fields: Record<string, unknown>[] }[];
}

test('what was typed goes on as the API takes it', (t) => {
  const payload = { name: ' a ', is_on: 'true', dns: '1.1.1.1,\n x', key: 'k', alien: '1' };
  const typed = typedIn({ payload }, sections);
  t.deepEqual(typed, { name: ' a ', is_on: 'true', dns: '1.1.1.1,\n x', key: 'k', mtu: '' });
  t.deepEqual(inputOf(typed, sections), {
    name: ' a ',
    is_on: true,
    dns: ['1.1.1.1', 'x'],
    key: 'k',
    mtu: '',
  });
  const locked = (name: string) => (name === 'dns' ? 'fixed' : null);
  t.false('dns' in inputOf(typed, sections, locked));
  t.is(typedIn({ payload: { is_on: 'yes' } }, sections)['is_on'], 'false');
});

test('a record fills the form, but for secrets', (t) => {
  const record = { name: 'n', is_on: true, dns: ['a', 'b'], key: 'secret', mtu: 1280 };
  t.deepEqual(typedFrom(record, sections), {
    name: 'n',
    is_on: 'true',
    dns: 'a, b',
    key: '',
    mtu: '1280',
  });
  t.deepEqual(membersOf(' a,,b\tc;\n'), ['a', 'b', 'c']);
});

test('a form shows what was typed and each error at its field, those of no field above', (t) => {
  const typed = typedIn({ payload: { name: 'n', key: 'k' } }, sections);
  const errors = { name: ['bad'], base: ['full'], user_id: [messages.absent] };
  const view = formView(sections, typed, { action: '/x', submit: 'Go', errors }) as View;
  t.deepEqual(view.base, ['full', 'user_id: There is no such record']);
  const [name, box] = view.sections[0]!.fields;
  t.like(name, { value: 'n', errors: ['bad'], required: true });
  t.like(box, { type: 'checkbox', checked: false });
  const [, key] = view.sections[1]!.fields;
  t.like(key, { type: 'password', value: '' });
});

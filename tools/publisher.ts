// Who publishes releases. As long as nobody does, these are placeholders, and releases are refused.

/** What a publisher fills in, and nothing else. */
interface Publisher {
  /** Who reads reports of security bugs; `npm run docs` writes it into the pages that name it. */
  readonly contact: string;
  /** Where the image is published; as it is here, the name that it gets where it is loaded. */
  readonly image: string;
  /** Where people read a file of the sources, such as `https://HOST/OWNER/postern/blob/main`. */
  readonly sources: string | null;
}

export const PUBLISHER: Publisher = {
  contact: 'security@postern.example',
  image: 'localhost/postern',
  sources: null,
};

/** The pages that name the contact. */
export const CONTACT_PAGES = ['SECURITY.md', 'CONTRIBUTING.md', 'README.md'];

/** The address that a text of SECURITY.md gives to those who report a bug. */
export function contactIn(text: string): string {
  const [, address] = /\*\*([\w.+-]+@[\w.-]+)\*\*/.exec(text) ?? [];
  if (address === undefined) throw new Error('SECURITY.md names no address');
  return address;
}

// Mail: plain text to one person at a time, by the server of SMTP_URL. A server that is away or
// refuses costs nobody more than some seconds, and says why in one sentence.

import type { Config } from '../../../config/index.ts';
import type { Counters } from '../process/counters.ts';
import type { Log } from '../process/log.ts';
import { errorOf, type MailError, soon, transportOf } from './server.ts';

/** Mails, and work that sends some, that wait at most. */
export const WAITING_MAX = 1_000;
/** Characters by which an address could name other people than the one. */
const AMBIGUOUS = /[\s,;:<>()[\]\\"]/;

/** One mail. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mails. */
export interface Mails {
  /** Null once the server took the mail, else why not. */
  send(mail: Mail): Promise<string | null>;
  /** Does work after the present request, at its turn; false where too much waits already. */
  later(work: () => Promise<unknown>): boolean;
}

type MailConfig = Pick<Config, 'smtpUrl' | 'mailFrom'>;

/** Makes the sender of mails; null where the settings name no server. */
export function mailerOf(
  { smtpUrl, mailFrom }: MailConfig,
  means: { readonly counters: Counters; readonly log: Log },
): Mailer | null {
  return smtpUrl === null || mailFrom === null ? null : new Mailer(smtpUrl, mailFrom, means);
}

/** Sends by one server. */
export class Mailer implements Mails {
  readonly #from: string;
  readonly #counters: Counters;
  readonly #log: Log;
  readonly #transport: ReturnType<typeof transportOf>;
  #waiting: (() => Promise<unknown>)[] = [];
  #running: Promise<void> | null = null;
  #sending = 0;

  constructor(smtpUrl: string, from: string, means: { counters: Counters; log: Log }) {
    this.#from = from;
    this.#counters = means.counters;
    this.#log = means.log;
    this.#transport = transportOf(smtpUrl);
  }

  async send(mail: Mail): Promise<string | null> {
    const error = await this.#try(mail);
    if (error === null) {
      this.#counters.add('mails', 'sent');
      return null;
    }
    this.#counters.add('mails', error.reason);
    this.#log.warn({ reason: error.reason }, 'a mail was not sent');
    return `${error.text}. ${error.fix}`;
  }

  later(work: () => Promise<unknown>): boolean {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#counters.add('mails', 'too_many_mails');
      return false;
    }
    this.#waiting.push(work);
    this.#running ??= this.#runAll();
    return true;
  }

  /** Waits for what is under way; what has not begun is given up. */
  async stop(): Promise<void> {
    this.#waiting = [];
    this.#transport.close();
    await this.#running;
  }

  async #runAll(): Promise<void> {
    // One after another: mails for which somebody waits at this process come first.
    for (let work = this.#waiting.shift(); work !== undefined; work = this.#waiting.shift())
      await work().catch((error: unknown) => {
        this.#log.warn({ error: (error as Error).name }, 'a mail could not be prepared');
      });
    this.#running = null;
  }

  async #try({ to, subject, text }: Mail): Promise<MailError | null> {
    if (AMBIGUOUS.test(to)) return REFUSED_HERE;
    if (this.#sending >= WAITING_MAX) return TOO_MANY;
    this.#sending += 1;
    try {
      const from = this.#from;
      const sent = this.#transport.sendMail({
        from: { name: 'Postern', address: from },
        to: { name: '', address: to },
        // The server gets this one person, whatever the header could be read as.
        envelope: { from, to: [to] },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      await soon(sent);
      return null;
    } catch (error) {
      return errorOf(error);
    } finally {
      this.#sending -= 1;
    }
  }
}

const REFUSED_HERE: MailError = {
  reason: 'mail_refused',
  text: 'No mail can be sent to this address: it holds spaces, commas or brackets',
  fix: 'Correct the e-mail of the user.',
};
const TOO_MANY: MailError = {
  reason: 'too_many_mails',
  text: 'Too many mails wait',
  fix: 'Try again later.',
};

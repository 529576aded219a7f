// What a person does at pages until something is done: clicks, keys and scrolls, which are actions,
// and the words that they type or paste, and the pages that they see. What is not in the window is
// scrolled to, which counts; a field that has no focus is clicked first.

import type { Locator, Page } from 'playwright-core';

/** What somebody did. */
export interface Recorded {
  readonly actions: number;
  readonly words: number;
  readonly pages: number;
}

/** A person at a page. */
export class Recorder {
  readonly page: Page;
  #actions = 0;
  #words = 0;
  #pages = 0;

  constructor(page: Page) {
    this.page = page;
    page.on('framenavigated', (frame) => {
      if (frame === page.mainFrame()) this.#pages += 1;
    });
  }

  /** What was done since this was asked last. */
  take(): Recorded {
    const recorded = { actions: this.#actions, words: this.#words, pages: this.#pages };
    [this.#actions, this.#words, this.#pages] = [0, 0, 0];
    return recorded;
  }

  async click(target: Locator): Promise<void> {
    await this.#bring(target);
    this.#actions += 1;
    await target.click();
  }

  /** Touches a link that somebody sent. */
  async open(url: string): Promise<void> {
    this.#actions += 1;
    await this.page.goto(url);
  }

  async link(name: string | RegExp): Promise<void> {
    await this.click(this.page.getByRole('link', { name, exact: true }).first());
  }

  async button(name: string | RegExp): Promise<void> {
    await this.click(this.page.getByRole('button', { name, exact: true }).first());
  }

  /** Presses one key. */
  async press(key: string): Promise<void> {
    this.#actions += 1;
    await this.page.keyboard.press(key);
  }

  /** Types or pastes into a field, in the place of what it holds. */
  async write(field: Locator, text: string): Promise<void> {
    await field.waitFor();
    const focused = await this.page.evaluate<string>('document.activeElement.id');
    if (focused !== (await field.getAttribute('id'))) await this.click(field);
    this.#words += 1;
    await field.fill(text);
  }

  /** Goes to the next field, and types. */
  async writeNext(text: string): Promise<void> {
    await this.press('Tab');
    this.#words += 1;
    await this.page.keyboard.insertText(text);
  }

  /** Chooses in a list: the choice is clicked, after a click that opens the list if it is closed. */
  async choose(list: Locator, label: string): Promise<void> {
    await this.#bring(list);
    this.#actions += (await list.getAttribute('size')) === null ? 2 : 1;
    await list.selectOption({ label });
  }

  /** Waits for it, and scrolls to it if the window does not show it. */
  async see(target: Locator): Promise<void> {
    await this.#bring(target);
  }

  async #bring(target: Locator): Promise<void> {
    await target.waitFor();
    const box = await target.boundingBox();
    const { height } = this.page.viewportSize() ?? { height: 0 };
    if (box !== null && box.y >= 0 && box.y + Math.min(box.height, height) <= height) return;
    this.#actions += 1;
    await target.scrollIntoViewIfNeeded();
  }
}

// Reads QR codes from screenshots, with a decoder that has nothing to do with what drew them.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Locator } from 'playwright-core';

const JSQR = readFileSync(createRequire(import.meta.url).resolve('jsqr'), 'utf8');

/** The text of the code that an element shows; null where it is none. */
export async function readCode(browser: Browser, element: Locator): Promise<string | null> {
  const image = (await element.screenshot()).toString('base64');
  // A blank page decodes the image: the page itself may load nothing from elsewhere.
  const page = await browser.newPage();
  try {
    await page.evaluate(JSQR);
    return await page.evaluate<string | null>(`(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${image}';
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const { data, width, height } = context.getImageData(0, 0, image.width, image.height);
      return jsQR(data, width, height)?.data ?? null;
    })()`);
  } finally {
    await page.close();
  }
}

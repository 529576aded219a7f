// The SVG of an address is markup that a page takes as it is.

import test from 'ava';
import { qrCode } from '../../../../lib/web/kit/qr-code.ts';

test('an address becomes an SVG, and nothing of it becomes markup', async (t) => {
  const code = await qrCode('otpauth://totp/Postern:"><script>alert(1)</script>');
  t.regex(code, /^<svg [^>]*>/);
  t.false(code.includes('script'));
  t.not(code, await qrCode('otpauth://totp/Postern'));
});

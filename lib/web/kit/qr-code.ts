// QR codes that the gateway draws; scripts of pages draw those that hold a private key.

/** The SVG of an address, of which it holds no text: only the path of its squares. */
export async function qrCode(address: string): Promise<string> {
  const { renderSVG } = await import('uqr');
  return renderSVG(address, { border: 2 });
}

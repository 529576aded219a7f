// Whether an addon was linked with Node as a shared library, as the npm of Debian and Ubuntu links
// it. The Node that runs Postern needs no such library: the addon would load a second Node beside
// it, and the process would crash when it ends.

/** An addon that was built: where it is, and its bytes. */
export interface BuiltAddon {
  readonly path: string;
  readonly bytes: Buffer;
}

/** What is wrong with addons and what to do about it, as lines of text; null if all are right. */
export function linkedNodeFault(addons: readonly BuiltAddon[]): string | null {
  const linked = addons.filter(({ bytes }) => bytes.includes('libnode.so'));
  if (linked.length === 0) return null;
  return [
    'These addons need a second Node (libnode.so), and Postern would crash when it ends:',
    ...linked.map(({ path }) => `  ${path}`),
    'The npm of Debian and Ubuntu builds addons in this way. Do one of these instead:',
    '  npx -y npm@10 ci',
    '  npm install -g npm@10, and then npm ci',
    '',
  ].join('\n');
}

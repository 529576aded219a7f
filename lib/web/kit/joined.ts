// What pages load together, joined to one file: a page is few requests, and its sources stay one
// concern a file. A script becomes a block of the joined module, so that its names are its own;
// what it exports, blocks behind it and scripts of single pages import as before.

const IMPORT = /^import (?:\{ ([\w, ]+) \}|(\w+)) from \x27\.\/[\w/-]+\.js\x27;$/gm;
const EXPORT = /^export (?:default )?(?=(?:async )?(?:function|class) (\w+))/gm;

/** Joins scripts that import only what scripts before them export: functions and classes. */
export function joinScripts(sources: readonly string[]): string {
  const exported = sources.flatMap((source) => namesIn(source));
  const blocks = sources.map((source) => {
    const own = source.replaceAll(IMPORT, 'const { $1$2 } = joined;').replaceAll(EXPORT, '');
    return `{\n${own}\nObject.assign(joined, { ${namesIn(source).join(', ')} });\n}\n`;
  });
  const all = `export const { ${exported.join(', ')} } = joined;\n`;
  return `const joined = {};\n${blocks.join('')}${all}`;
}

function namesIn(source: string): string[] {
  return Array.from(source.matchAll(EXPORT), ([, name = '']) => name);
}

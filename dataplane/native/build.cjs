// Builds the addon; `npm ci` runs it as the install script of the package. It takes a C++ compiler
// and the headers of Node, unless an addon for this machine is there, and asks nobody on the
// network. The addon is optional: without it Postern runs on the TypeScript engine without a TUN,
// and says so at its start. Plain JavaScript of long ago: an older Node must read it, too, to say
// that it is too old.

'use strict';

const { spawn, spawnSync } = require('child_process');
const fs = require('fs');
const { cpus } = require('os');
const { dirname, join } = require('path');

const ROOT = join(__dirname, '../..');
const OBJECTS = join(__dirname, 'build/objects');
const ADDON = join(__dirname, 'build/Release/postern.node');
/** The package for tests has an addon for some machines; a checkout has none. */
const PREBUILT = join(__dirname, `prebuilt/${process.platform}-${process.arch}`, 'postern.node');
const FLAGS = ['-DNAPI_VERSION=8', '-std=c++17', '-O3', '-fPIC', '-pthread'].concat(
  ['-fvisibility=hidden', '-fno-omit-frame-pointer', '-fno-rtti', '-fno-exceptions'],
  ['-Wall', '-Wextra', '-Wno-cast-function-type'],
);

const environment = process.env;
/** What brings a Node beside the project: a checkout has a lock file, the package has none. */
const another = fs.existsSync(join(ROOT, 'package-lock.json'))
  ? 'run npm ci without --omit=dev'
  : 'run npm install node@24';

const wanted = wantedNode();
if (wanted === null) {
  build().then(say, (error) => say(error.message));
} else {
  process.stderr.write(
    `Postern needs Node ${wanted} or newer, and this is Node ${process.versions.node} ` +
      `(${process.execPath}): install one from nodejs.org, or ${another}, which brings one\n`,
  );
  process.exitCode = 1;
}

/** The version that package.json asks for; null: this Node will do. */
function wantedNode() {
  const { engines } = JSON.parse(fs.readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const version = engines.node.replace('>=', '');
  const least = version.split('.').map(Number);
  const is = process.versions.node.split('.').map(Number);
  const isOlder = is[0] < least[0] || (is[0] === least[0] && is[1] < least[1]);
  return isOlder ? version : null;
}

/** Says why there is no addon, if there is none. The installation succeeds. */
function say(why) {
  if (why === null) return;
  const without = 'Postern will run on the TypeScript engine without a TUN';
  process.stderr.write(`The native engine was not built, and ${without}: ${why}\n`);
}

/** Whether there is an addon for this machine, which it can load; then it is put in its place. */
function takePrebuilt() {
  if (!fs.existsSync(PREBUILT)) return false;
  // Another C library cannot load it.
  const loaded = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(PREBUILT)})`]);
  if (loaded.status !== 0) return false;
  fs.mkdirSync(dirname(ADDON), { recursive: true });
  fs.copyFileSync(PREBUILT, ADDON);
  return true;
}

/** Makes the addon; returns what kept it from that, else null. */
async function build() {
  if (takePrebuilt()) return null;
  const headers = findHeaders();
  if (headers === null)
    return (
      `${join(prefixOf(process.execPath), 'include/node')} does not hold the headers of Node; ` +
      `install a Node from nodejs.org, which has them, or ${another}, or name the folder above ` +
      'include/node by npm_config_nodedir, then: npm run build:native'
    );
  const compiler = findCompiler();
  if (compiler === null)
    return (
      'there is no C++ compiler; install one (Debian: apt-get install g++), or name yours by CXX, ' +
      'then: npm run build:native'
    );
  // Objects of a source that is gone must not be linked.
  fs.rmSync(OBJECTS, { recursive: true, force: true });
  fs.mkdirSync(OBJECTS, { recursive: true });
  fs.mkdirSync(dirname(ADDON), { recursive: true });
  const sources = fs.readdirSync(__dirname).filter((name) => name.endsWith('.cc'));
  const objects = sources.map((name) => join(OBJECTS, name.replace(/\.cc$/, '.o')));
  const flags = FLAGS.concat(`-I${headers}`, words(environment.CXXFLAGS));
  const why = await runAll(
    sources.map((name, i) => compiler.concat(flags, '-c', join(__dirname, name), '-o', objects[i])),
  );
  if (why !== null) return why;
  // A gateway may run with the old one: it stays whole until the new one takes its name.
  const made = `${ADDON}.new`;
  const error = await run(
    compiler.concat('-shared', '-pthread', '-o', made, objects, words(environment.LDFLAGS)),
  );
  if (error !== null) return error;
  fs.renameSync(made, ADDON);
  return null;
}

/** The folder of node_api.h, which is stable: that of any Node that will do is right. */
function findHeaders() {
  const given = environment.npm_config_nodedir;
  const running = prefixOf(process.execPath);
  const prefixes = [running].concat(
    packagedIn(running),
    packagedIn(join(ROOT, 'node_modules/node')),
  );
  const found = (given ? [given] : prefixes)
    .map((prefix) => join(prefix, 'include/node'))
    .find((folder) => fs.existsSync(join(folder, 'node_api.h')));
  return found === undefined ? null : found;
}

function prefixOf(program) {
  return dirname(dirname(fs.realpathSync(program)));
}

/** The package `node` has the program itself, and the rest in a package of each machine. */
function packagedIn(folder) {
  const packages = join(folder, 'node_modules');
  if (!fs.existsSync(packages)) return [];
  const names = fs.readdirSync(packages).filter((name) => name.startsWith('node-linux-'));
  return names.map((name) => join(packages, name));
}

/** The compiler, as program and arguments. */
function findCompiler() {
  const given = words(environment.CXX);
  const candidates = given.length > 0 ? [given] : [['c++'], ['g++'], ['clang++']];
  const runs = ([program]) => spawnSync(program, ['--version']).status === 0;
  const found = candidates.find(runs);
  return found === undefined ? null : found;
}

function words(text) {
  return (text || '').split(/\s+/).filter((word) => word !== '');
}

/** Runs commands, as many at once as there are cores, until one fails; what it says, else null. */
async function runAll(commands) {
  const waiting = commands.slice();
  let why = null;
  const work = async () => {
    while (waiting.length > 0 && why === null) {
      const error = await run(waiting.shift());
      if (error !== null) why = error;
    }
  };
  await Promise.all(cpus().map(work));
  return why;
}

/** Runs a command; what it says if it fails, else null. */
function run(command) {
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'inherit', 'pipe'] });
    let text = '';
    child.stderr.on('data', (chunk) => {
      text += chunk;
    });
    child.on('error', (error) => resolve(error.message));
    child.on('close', (status, signal) => {
      if (status === 0) process.stderr.write(text);
      resolve(status === 0 ? null : `${command[0]} ended with ${signal || status}\n${text.trim()}`);
    });
  });
}

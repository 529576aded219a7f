// Loaded before a program that a test starts (CHEAP_PASSWORDS): what it hashes with bcrypt costs
// least. It changes the package when the program loads it, and loads nothing itself.

'use strict';

const process = require('node:process');

/** The least cost that bcrypt knows. */
const COST = 4;
const { dlopen } = process;

process.dlopen = (module, file, ...rest) => {
  dlopen(module, file, ...rest);
  if (!/bcrypt[.\w]*\.node$/.test(file)) return;
  const { gen_salt: genSalt } = module.exports;
  module.exports.gen_salt = (minor, _cost, ...others) => genSalt(minor, COST, ...others);
};

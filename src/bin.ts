#!/usr/bin/env node
// Kept to syntax that old versions can read, so that they get to the line below instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 18)) {
  process.stderr.write(`trainyard needs Node 24.18 or newer, and this is ${process.versions.node}\n`)
  process.exit(1)
}
await import('./cli.ts')

export {}

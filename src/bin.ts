#!/usr/bin/env node
// Kept to syntax that old versions can read, so that they get to the lines below instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 18)) {
  process.stderr.write(
    `trainyard needs Node 24.18 or newer, and this is ${process.versions.node}. npm brings a newer one along:\n` +
      `  npx -p node@26 -p <the package of trainyard> trainyard ${process.argv.slice(2, 3).join('')}\n`,
  )
  // Of `contract`, 1 says that a check failed, and 2 that none could be run.
  process.exit(process.argv[2] === 'contract' ? 2 : 1)
}
await import('./cli.ts')

export {}

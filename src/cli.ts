import { Command, Option } from 'commander'
import { describeSettings, readSettings, SettingError } from './config.ts'
import { FolderInUseError } from './storage/folder-lock.ts'

const program = new Command('trainyard')
  .description('A serverless training and inference service for language models')
  .showHelpAfterError()

program
  .command('serve', { isDefault: true })
  .description('Serve the API; settings come from the environment')
  .addHelpText(
    'after',
    `\nSettings:\n${describeSettings()
      .map(row => `  ${row.variable} (${row.default || 'none'}): ${row.meaning}`)
      .join('\n')}`,
  )
  .action(async () => {
    const { serve } = await import('./serve.ts')
    await serve(readSettings(process.env))
  })

const keys = program.command('keys').description('Manage API keys')
keys
  .command('create')
  .description('Make an API key, also while the server runs, and print it')
  .requiredOption('--user <name>', 'the user that the key belongs to, made where it does not exist')
  .requiredOption('--team <team>', 'the team of the key, made where it does not exist')
  .addOption(new Option('--role <role>', "the user's role in the team").choices(['member', 'admin']).default('member'))
  .option('--key <value>', 'a key of your own, with at least 128 random bits')
  .option('--name <name>', 'what the key is for', 'made by trainyard keys create')
  .action(async options => {
    const { createKey } = await import('./keys-command.ts')
    process.stdout.write(`${await createKey(readSettings(process.env), options)}\n`)
  })

program
  .command('contract')
  .description('Check a deployment against the contract, or clean up after a check that could not end')
  .allowUnknownOption()
  .allowExcessArguments()
  .helpOption(false)
  .action(async (_options, command: Command) => {
    const { runContract } = await import('./contract/run.ts')
    process.exitCode = await runContract(command.args)
  })

program
  .command('demo')
  .description('Train the built-in model on a temporary server and watch it learn')
  .action(async () => {
    const { runDemo } = await import('./demo.ts')
    await runDemo()
  })

await program.parseAsync().catch(error => {
  const known = [SettingError, FolderInUseError, RangeError].some(kind => error instanceof kind)
  const message = known || error.code === 'EADDRINUSE' ? error.message : error.stack
  process.stderr.write(`${message}\n`)
  process.exit(1)
})

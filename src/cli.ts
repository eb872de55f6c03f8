import { Command } from 'commander'
import { describeSettings, readSettings } from './config.ts'
import { addOperatorCommands } from './operator-commands.ts'

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

addOperatorCommands(program)

program
  .command('contract')
  .description('Check a deployment against the contract, or clean up after a check that could not end')
  .allowUnknownOption()
  .allowExcessArguments()
  .helpOption(false)
  .action(async (_options, command: Command) => {
    // 2 says that no check could be run: 1 is for checks that failed.
    process.exitCode = 2
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

/** Errors whose message is meant for the one at the keyboard; any other is a fault of ours and shows its stack. */
const KNOWN = [
  'SettingError',
  'FolderInUseError',
  'CommandError',
  'LastAdminError',
  'UnreadableSecretError',
  'RangeError',
]

await program.parseAsync().catch(error => {
  const isKnown = KNOWN.includes(error.name) || error.code === 'EADDRINUSE'
  process.stderr.write(`${isKnown ? error.message : error.stack}\n`)
  process.exit(1)
})

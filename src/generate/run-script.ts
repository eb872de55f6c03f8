/** Runs a script's main function; an error ends it with its message alone and exit code 1. */
export const runScript = async (main: () => Promise<void>) => {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

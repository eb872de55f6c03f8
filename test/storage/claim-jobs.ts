/** A process that claims jobs until there are none, and prints their ids: `node claim-jobs.ts <data folder>`. */
import { openDatabase } from '../../src/storage/database.ts'
import { claimJob } from '../../src/storage/leases.ts'

const LEASE_MS = 60_000

const database = await openDatabase(process.argv[2]!)
for (;;) {
  const claimed = await claimJob(database, String(process.pid), LEASE_MS)
  if (!claimed) break
  console.log(claimed.job.id)
}
await database.destroy()

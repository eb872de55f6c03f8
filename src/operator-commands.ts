import { Argument, type Command, Option } from 'commander'
import { readSettings } from './config.ts'
import type { Role } from './storage/keys.ts'
import type { Plan } from './storage/tables.ts'

/** A server that runs remembers for this long whom a key stands for: see CACHE_MS in auth.ts. */
const SOON = 'a server that runs follows within two seconds'
const PLANS = ['free', 'paid']
const ROLES = ['member', 'admin']

/** Adds the commands of an operator, which work on the database of DATA_DIR, also while the server runs. */
export function addOperatorCommands(program: Command): void {
  addKeyCommands(program.command('keys').description('Manage API keys'))
  addTeamCommands(program.command('teams').description('Manage teams, their plans and members'))
  addSecretCommands(program.command('secrets').description('Manage the master key of stored secrets'))
}

function addKeyCommands(keys: Command): void {
  keys
    .command('create')
    .description('Make an API key, also while the server runs, and print it')
    .requiredOption('--user <name>', 'the user that the key belongs to, made where it does not exist')
    .requiredOption('--team <team>', 'the team of the key, made where it does not exist')
    .addOption(new Option('--role <role>', "the user's role in the team (default: as it is, or member)").choices(ROLES))
    .option('--key <value>', 'a key of your own, with at least 128 random bits')
    .option('--name <name>', 'what the key is for', 'made by trainyard keys create')
    .action(async options => {
      const { createKey } = await import('./keys-command.ts')
      print(`${await createKey(settings(), options)}\n`)
    })
  keys
    .command('list')
    .description('List API keys, without the keys themselves, the oldest first')
    .option('--user <name>', 'only those of this user')
    .option('--team <team>', 'only those of this team')
    .action(async options => {
      const { listKeys } = await import('./keys-command.ts')
      const rows = await listKeys(settings(), options)
      await printTable(
        ['ID', 'USER', 'TEAM', 'NAME', 'CREATED'],
        rows.map(({ id, user, team, name, created_at }) => [id, user, team, name, created_at]),
      )
    })
  keys
    .command('revoke')
    .description(`Revoke API keys by their ids: all of them or, where one does not exist, none; ${SOON}`)
    .argument('<id...>', 'ids, as keys list shows them')
    .action(async (ids: string[]) => {
      const { revokeKeys } = await import('./keys-command.ts')
      await revokeKeys(settings(), ids)
      print(`Revoked ${ids.join(', ')}\n`)
    })
}

function addTeamCommands(teams: Command): void {
  teams
    .command('list')
    .description('List all teams')
    .action(async () => {
      const { listAllTeams } = await import('./teams-command.ts')
      const rows = await listAllTeams(settings())
      await printTable(
        ['TEAM', 'PLAN', 'MEMBERS', 'CREATED'],
        rows.map(({ name, plan, members, created_at }) => [name, plan, String(members), created_at]),
      )
    })
  teams
    .command('create')
    .description('Make a team')
    .argument('<team>', 'its name')
    .addOption(new Option('--plan <plan>', 'free has no webhooks and automations').choices(PLANS).default('paid'))
    .option('--admin <user>', 'its first admin, made where there is no such user')
    .action(async (team: string, options: { plan: Plan; admin?: string }) => {
      const { createTeam } = await import('./teams-command.ts')
      await createTeam(settings(), { team, ...options })
      print(`Made the team ${team}\n`)
    })
  teams
    .command('set-plan')
    .description('Switch webhooks and automations of a team off (free) or on (paid), at once')
    .argument('<team>')
    .addArgument(new Argument('<plan>').choices(PLANS))
    .action(async (team: string, plan: Plan) => {
      const { changePlan } = await import('./teams-command.ts')
      await changePlan(settings(), team, plan)
      print(`The plan of team ${team} is ${plan}\n`)
    })
  teams
    .command('members')
    .description('List the members of a team with their roles')
    .argument('<team>')
    .action(async (team: string) => {
      const { listTeamMembers } = await import('./teams-command.ts')
      const rows = await listTeamMembers(settings(), team)
      await printTable(
        ['USER', 'ROLE', 'ADMIN OF PROJECTS', 'ADMIN OF REGISTRIES'],
        rows.map(({ user, role, projects, registries }) => [user, role, projects.join(', '), registries.join(', ')]),
      )
    })
  teams
    .command('set-member')
    .description(`Make a user a member, or replace the roles of a member; ${SOON}`)
    .argument('<team>')
    .argument('<user>', 'made where there is no such user')
    .addOption(new Option('--role <role>', 'the role in the team').choices(ROLES).default('member'))
    .option('--project-admin <project...>', 'projects whose automations the member manages', [])
    .option('--registry-admin <registry...>', 'registries whose automations the member manages', [])
    .action(async (team: string, user: string, options: MemberOptions) => {
      const { changeMember } = await import('./teams-command.ts')
      const { role, projectAdmin: projects, registryAdmin: registries } = options
      await changeMember(settings(), { team, user }, { role, projects, registries })
      print(`${user} is ${role === 'admin' ? 'an admin' : 'a member'} of team ${team}\n`)
    })
  teams
    .command('remove-member')
    .description(`Take a user out of a team and revoke the user's keys that are bound to it; ${SOON}`)
    .argument('<team>')
    .argument('<user>')
    .action(async (team: string, user: string) => {
      const { dropMember } = await import('./teams-command.ts')
      const keys = await dropMember(settings(), { team, user })
      print(`${user} is no longer a member of team ${team}; keys revoked: ${keys}\n`)
    })
}

interface MemberOptions {
  role: Role
  projectAdmin: string[]
  registryAdmin: string[]
}

function addSecretCommands(secrets: Command): void {
  secrets
    .command('rotate')
    .description('Put all stored secrets under a new master key')
    .addHelpText(
      'after',
      `
Without SECRETS_KEY, the new key is made and kept in the file secrets.key of the data folder. It may be run
while the server runs, and again after it was interrupted. An older copy of the database needs the file of its time.

With SECRETS_KEY, that key is the new one: start the server anew with the new key as SECRETS_KEY and the one
before among SECRETS_OLD_KEYS, run this with the same settings, and then leave SECRETS_OLD_KEYS out.`,
    )
    .action(async () => {
      const { rotateSecrets } = await import('./secrets-command.ts')
      print(`Secrets put under the new master key: ${await rotateSecrets(settings())}\n`)
    })
}

function settings() {
  return readSettings(process.env)
}

function print(text: string): void {
  process.stdout.write(text)
}

async function printTable(headings: string[], rows: string[][]): Promise<void> {
  const { toTable } = await import('./text-table.ts')
  print(toTable(headings, rows))
}

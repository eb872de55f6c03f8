/** The settings of `trainyard contract`: names, what they mean, how their texts are read. Each is a flag and an environment variable. */

export type Command = 'run' | 'cleanup'

interface Setting {
  /** What stands for the value in the help; absent: it is given or not. */
  value?: string
  help: string
  /** May be given several times; in the environment the values are separated by commas. */
  isList?: true
  /** Default: both. */
  only?: Command
}

/** In the order of the help. */
export const SETTINGS = {
  'base-url': { value: 'URL', help: 'address of the service; any path prefix is fine' },
  'inference-url': { value: 'URL', help: 'address of the inference service, ending in /v1; else <base URL>/v1' },
  'api-key': { value: 'KEY', help: 'a key; else the variable API_KEY' },
  'second-api-key': { value: 'KEY', help: 'a key of another team: checks what must not be seen across teams' },
  basic: { value: 'USER:PASSWORD', help: 'basic credentials; else api:<api key>' },
  project: { value: 'TEAM/PROJECT', help: "work in this project, not in one of the key's team named like the run" },
  'base-model': { value: 'NAME', help: 'model to train and to chat with (tiny-chat)', only: 'run' },
  profile: {
    value: 'NAME',
    help: 'interface: judge what the interface itself says; full: all of it (full)',
    only: 'run',
  },
  mock: { help: 'the deployment is a mock that keeps nothing (a Prism mock is noticed by itself)', only: 'run' },
  filter: {
    value: 'TEXT',
    help: 'only checks whose id holds this text, such as createModel/',
    isList: true,
    only: 'run',
  },
  tag: { value: 'NAME', help: 'only checks of this tag, such as models', isList: true, only: 'run' },
  'no-training': { help: 'run no training jobs, which cost time', only: 'run' },
  'no-retries': { help: 'do not wait until webhooks are sent again', only: 'run' },
  'read-only': { help: 'send only what changes nothing, such as GET', only: 'run' },
  'model-id': { value: 'ID', help: 'with --read-only: a model that is there', only: 'run' },
  'training-job-id': { value: 'ID', help: 'with --read-only: a training job that is there', only: 'run' },
  artifact: { value: 'URI', help: 'with --read-only: an artifact version that is there', only: 'run' },
  'webhook-public-url': { value: 'URL', help: 'address at which the deployment reaches --webhook-port', only: 'run' },
  'webhook-port': { value: 'PORT', help: 'port on which webhooks are received (any free one)', only: 'run' },
  'job-timeout': { value: 'SECONDS', help: 'longest time that one training job may take (600)', only: 'run' },
  delay: { value: 'MS', help: 'least time between two requests (0)' },
  concurrency: { value: 'N', help: 'checks that run at once (1)', only: 'run' },
  'max-requests': { value: 'N', help: 'stop sending after so many; what is left is skipped', only: 'run' },
  'dry-run': { help: 'list what would be run and how much it sends, and send nothing', only: 'run' },
  list: { help: 'list all checks and their tags, and send nothing', only: 'run' },
  'expected-failures': {
    value: 'FILE',
    help: 'ids of checks that may fail; one that passes fails the run',
    only: 'run',
  },
  json: { value: 'FILE', help: 'write the report as JSON', only: 'run' },
  junit: { value: 'FILE', help: 'write the report as JUnit XML', only: 'run' },
  html: { value: 'FILE', help: 'write the report as one page', only: 'run' },
  badge: { value: 'FILE', help: 'write a badge as SVG', only: 'run' },
  'older-than': { value: 'HOURS', help: 'leave alone what younger runs of other machines made (1)', only: 'cleanup' },
  all: { help: 'delete what any run made, even one that seems to go on', only: 'cleanup' },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

/** What was given: texts, lists of them, or true. */
export type Values = {
  [Name in SettingName]?: (typeof SETTINGS)[Name] extends { isList: true }
    ? string[]
    : (typeof SETTINGS)[Name] extends { value: string }
      ? string
      : boolean
}

export const SETTING_ENTRIES = Object.entries(SETTINGS) as [SettingName, Setting][]

/** Such as TRAINYARD_CONTRACT_BASE_URL. */
export function variableOf(name: SettingName): string {
  return `TRAINYARD_CONTRACT_${name.toUpperCase().replaceAll('-', '_')}`
}

/** What the environment gives. Throws where a switch is neither on nor off, or a variable names no setting. */
export function readVariables(environment: NodeJS.ProcessEnv, command: Command): Values {
  const known = new Set(SETTING_ENTRIES.map(([name]) => variableOf(name)))
  for (const name of Object.keys(environment))
    if (name.startsWith('TRAINYARD_CONTRACT_') && !known.has(name)) throw new Error(`There is no setting ${name}`)
  const values: Record<string, string | string[] | boolean> = {}
  for (const [name, { value, isList, only }] of SETTING_ENTRIES) {
    const text = environment[variableOf(name)]
    if (!text || (only && only !== command)) continue
    if (isList) values[name] = text.split(',').map(one => one.trim())
    else values[name] = value ? text : toSwitch(variableOf(name), text)
  }
  return values as Values
}

function toSwitch(variable: string, text: string): boolean {
  if (['1', 'true', 'yes'].includes(text)) return true
  if (['0', 'false', 'no'].includes(text)) return false
  throw new Error(`${variable} must be 1 or 0, not ${text}`)
}

/** One line for each setting that a command takes. */
export function describeSettings(command: Command): string {
  const rows = SETTING_ENTRIES.filter(([, { only }]) => !only || only === command).map(([name, { value, help }]) => [
    `--${name}${value ? ` ${value}` : ''}`,
    help,
  ])
  const width = Math.max(...rows.map(([flag]) => flag!.length))
  return rows.map(([flag, help]) => `  ${flag!.padEnd(width)}  ${help}`).join('\n')
}

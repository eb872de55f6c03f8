import { describe, expect, it } from 'vitest'
import { type RunCommand, readCommand } from '../../src/contract/options.ts'

const KEY = ['--api-key', 'a-key']
const BASE = ['--base-url', 'http://host:8080/prefix/', ...KEY]
const HOME = { HOME: '/home/ada' }

const read = (args: string[], environment: NodeJS.ProcessEnv = HOME) => readCommand(args, environment) as RunCommand

describe('the command line', () => {
  it('has defaults that follow from the address and the key', () => {
    expect(read(BASE)).toMatchObject({
      command: 'run',
      target: {
        baseUrl: 'http://host:8080/prefix',
        inferenceUrl: 'http://host:8080/prefix/v1',
        apiKey: 'a-key',
        secondApiKey: null,
        basic: 'api:a-key',
        baseModel: 'tiny-chat',
        isMock: false,
        jobTimeoutMs: 600_000,
        profile: 'full',
        project: null,
        isReadOnly: false,
        given: { modelId: null, trainingJobId: null, artifact: null },
        mayTrain: true,
        mayRetry: true,
        receiver: null,
      },
      selection: { filters: [], tags: [] },
      delayMs: 0,
      concurrency: 1,
      maxRequests: null,
      files: { json: null, junit: null, html: null, badge: null },
      expectedFailures: null,
    })
  })

  it('takes every option', () => {
    const command = read([
      ...BASE,
      ...['--inference-url', 'http://i/v1', '--second-api-key', 'other', '--basic', 'u:p:q', '--project', 'team/proj'],
      ...['--base-model', 'm', '--mock', '--profile', 'interface', '--tag', 'models', '--tag', 'chat', '--filter', 'a'],
      ...[
        '--filter',
        'b',
        '--no-training',
        '--no-retries',
        '--job-timeout',
        '5',
        '--delay',
        '20',
        '--concurrency',
        '4',
      ],
      ...['--max-requests', '9', '--json', 'j', '--junit', 'x', '--html', 'h', '--badge', 'b', '--expected-failures'],
      ...['e', '--webhook-port', '99', '--webhook-public-url', 'https://me/hook'],
    ])
    expect(command).toMatchObject({
      target: {
        inferenceUrl: 'http://i/v1',
        secondApiKey: 'other',
        basic: 'u:p:q',
        project: { entity: 'team', project: 'proj' },
        baseModel: 'm',
        isMock: true,
        profile: 'interface',
        mayTrain: false,
        mayRetry: false,
        jobTimeoutMs: 5000,
        receiver: { publicUrl: 'https://me/hook', port: 99 },
      },
      selection: { filters: ['a', 'b'], tags: ['models', 'chat'] },
      delayMs: 20,
      concurrency: 4,
      maxRequests: 9,
      files: { json: 'j', junit: 'x', html: 'h', badge: 'b' },
      expectedFailures: 'e',
    })
  })

  it('takes what is there already for a run that only reads', () => {
    const uri = 'artifact:///team/project/name:v0'
    const given = ['--model-id', 'm', '--training-job-id', 'j', '--artifact', uri]
    expect(read([...BASE, '--read-only', ...given]).target).toMatchObject({
      isReadOnly: true,
      given: { modelId: 'm', trainingJobId: 'j', artifact: uri },
    })
  })

  it.each([
    ['http://127.0.0.1:1', { publicUrl: null, port: 0 }],
    ['http://localhost', { publicUrl: null, port: 0 }],
    ['http://[::1]:9', { publicUrl: null, port: 0 }],
    ['http://127.0.0.1.example.org', null],
    ['https://service', null],
  ])('takes it that %s reaches this machine: %j', (url, receiver) => {
    expect(read(['--base-url', url, ...KEY]).target.receiver).toEqual(receiver)
  })

  it('needs no deployment to list checks', () => {
    expect(read(['--list']).command).toBe('list')
    expect(read(['--dry-run', '--no-training']).command).toBe('dry-run')
  })

  it.each([
    [['--api-key', 'k'], '--base-url is missing'],
    [['--base-url', 'http://h'], '--api-key is missing'],
    [['cleanup', '--base-url', 'http://h'], '--api-key is missing'],
    [['--base-url', 'ftp://h', ...KEY], '--base-url must be an http address'],
    [['--base-url', 'h', ...KEY], '--base-url must be an http address'],
    [['--base-url', 'http://ada:secret@h', ...KEY], '--base-url must hold no credentials'],
    [[...BASE, '--fliter', 'x'], '--fliter'],
    [[...BASE, 'more'], 'more'],
    [[...BASE, '--basic', 'x'], '--basic must be user:password'],
    [[...BASE, '--job-timeout', 'soon'], '--job-timeout must be a number (SECONDS), not soon'],
    [[...BASE, '--job-timeout', '0'], '--job-timeout must be more than 0'],
    [[...BASE, '--delay=-1'], '--delay must be a number'],
    [[...BASE, '--concurrency', '0'], '--concurrency must be a whole number of at least 1'],
    [[...BASE, '--concurrency', '1.5'], '--concurrency must be a whole number'],
    [[...BASE, '--max-requests', '0'], '--max-requests must be a whole number of at least 1'],
    [[...BASE, '--webhook-port', '65536'], '--webhook-port must be at most 65535'],
    [[...BASE, '--webhook-public-url', 'me'], '--webhook-public-url must be an http address'],
    [[...BASE, '--inference-url', 'http://i'], '--inference-url must end in /v1'],
    [[...BASE, '--project', 'team'], '--project must be team/project'],
    [[...BASE, '--profile', 'strict'], '--profile must be interface or full'],
    [[...BASE, '--model-id', 'x'], '--model-id is for --read-only alone'],
    [[...BASE, '--read-only', '--artifact', 'x'], '--artifact must be <scheme>:///'],
    [[...BASE, '--all'], '--all'],
    [['cleanup', ...BASE, '--filter', 'x'], '--filter'],
    [['cleanup', ...BASE, '--older-than', 'x'], '--older-than must be a number (HOURS)'],
  ])('%j is refused', (args, message) => {
    expect(() => read(args)).toThrow(message)
    expect(() => read(args)).not.toThrow('secret')
  })
})

describe('the environment', () => {
  it('gives every setting, and flags win', () => {
    const environment = {
      ...HOME,
      TRAINYARD_CONTRACT_BASE_URL: 'http://from-environment',
      TRAINYARD_CONTRACT_API_KEY: 'own',
      API_KEY: 'general',
      TRAINYARD_CONTRACT_TAG: 'models, chat',
      TRAINYARD_CONTRACT_NO_TRAINING: '1',
      TRAINYARD_CONTRACT_READ_ONLY: '0',
      TRAINYARD_CONTRACT_DELAY: '7',
    }
    expect(read(['--delay', '9'], environment)).toMatchObject({
      target: { baseUrl: 'http://from-environment', apiKey: 'own', mayTrain: false, isReadOnly: false },
      selection: { tags: ['models', 'chat'] },
      delayMs: 9,
    })
  })

  it('has the general key as well', () => {
    expect(read(['--base-url', 'http://h'], { ...HOME, API_KEY: 'general' }).target.apiKey).toBe('general')
  })

  it.each([
    [{ TRAINYARD_CONTRACT_NO_TRAINNG: '1' }, 'There is no setting TRAINYARD_CONTRACT_NO_TRAINNG'],
    [{ TRAINYARD_CONTRACT_NO_TRAINING: 'maybe' }, 'TRAINYARD_CONTRACT_NO_TRAINING must be 1 or 0, not maybe'],
  ])('%j is refused', (environment, message) => {
    expect(() => read(BASE, { ...HOME, ...environment })).toThrow(message)
  })

  it('says where journals are kept', () => {
    expect(read(BASE, { XDG_STATE_HOME: '/state' }).journalFolder).toBe('/state/trainyard/contract')
  })
})

describe('cleaning up', () => {
  it('leaves young runs alone unless it is told otherwise', () => {
    expect(read(['cleanup', ...BASE])).toMatchObject({ command: 'cleanup', olderThanMs: 3_600_000, isAll: false })
    expect(read(['cleanup', ...BASE, '--all', '--older-than', '0.5'])).toMatchObject({
      olderThanMs: 1_800_000,
      isAll: true,
    })
  })
})

/** What lines of usage say besides their sums, and when things were last changed. */
import { isOf, replyItems, replyJson } from './change-replies.ts'
import { requestHeaders } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { objectsOf, withItems } from './held-out-zoo-tools.ts'

const TWO_DAYS_MS = 172_800_000

export const usageLineFaults: Fault[] = [
  {
    name: 'usage-without-project-named',
    rule: 'getUsage UsageLine: project is null where the requests named none',
    breaks: 'Requests that named no project count for one called default.',
    ...replyItems('getUsage', item => ({ ...item, project: item.project ?? 'default' })),
  },
  {
    name: 'usage-without-project-uncounted',
    rule: 'getUsage: a request without a project counts for the team of its key',
    breaks: 'Requests that named no project are in no line.',
    ...replyJson('getUsage', body =>
      withItems(
        body,
        objectsOf(body.data).filter(({ project }) => project !== null),
      ),
    ),
  },
  {
    name: 'usage-key-of-the-team',
    rule: 'getUsage UsageLine: the API key of the requests',
    breaks: 'Whatever key a chat was sent with, it counts for the first one.',
    ...requestHeaders('createChatCompletion', (_, { keys }) => ({ authorization: `Bearer ${keys.first}` })),
  },
  {
    name: 'usage-days-behind',
    rule: 'getUsage UsageLine: day',
    breaks: 'The day of a line without a project is two days earlier.',
    ...replyItems('getUsage', item => ({
      ...item,
      day: item.project === null ? twoDaysBefore(item.day) : item.day,
    })),
  },
  {
    name: 'usage-of-deleted-keys-lost',
    rule: 'getUsage: the lines outlive the keys they name',
    breaks: 'The lines of a key go with it.',
    onReply: (reply, _, context) => {
      const { operationId, path, memory } = context
      if (operationId === 'deleteApiKey' && reply.status === 200) memory.set(path.api_key_id!, true)
      if (!isOf('getUsage', context) || reply.status !== 200) return reply
      const page = JSON.parse(reply.body.toString('utf8'))
      const left = objectsOf(page.data).filter(({ api_key_id }) => !memory.has(String(api_key_id)))
      return { ...reply, body: Buffer.from(JSON.stringify(withItems(page, left))) }
    },
  },
  {
    name: 'usage-lines-by-project',
    rule: 'getUsage: the order in which the lines were begun',
    breaks: 'Lines come in the order of their projects.',
    ...replyJson('getUsage', body =>
      withItems(
        body,
        objectsOf(body.data).toSorted((a, b) => (String(a['project']) < String(b['project']) ? -1 : 1)),
      ),
    ),
  },
  {
    name: 'usage-lines-by-size',
    rule: 'getUsage: the order in which the lines were begun',
    breaks: 'A line with more requests comes first.',
    ...replyJson('getUsage', body =>
      withItems(
        body,
        objectsOf(body.data).toSorted((a, b) => Number(b['requests']) - Number(a['requests'])),
      ),
    ),
  },
  {
    name: 'usage-cached-uncounted',
    rule: 'getUsage UsageLine: cached_tokens',
    breaks: 'No line tells cached tokens.',
    ...replyItems('getUsage', item => ({ ...item, cached_tokens: 0 })),
  },
  {
    name: 'usage-cached-is-the-prompt',
    rule: 'getUsage UsageLine: cached_tokens',
    breaks: 'All prompt tokens of a line count as cached.',
    ...replyItems('getUsage', item => ({ ...item, cached_tokens: item.prompt_tokens })),
  },
]

export const changeTimeFaults: Fault[] = [
  {
    name: 'webhook-change-undated',
    rule: 'updateWebhook getWebhook: updated_at',
    breaks: 'updated_at of a webhook stays when it is changed.',
    ...replyItems('updateWebhook getWebhook listWebhooks', item => ({ ...item, updated_at: item.created_at })),
  },
  {
    name: 'webhook-created-when-changed',
    rule: 'updateWebhook getWebhook: created_at',
    breaks: 'created_at of a webhook moves when it is changed.',
    ...replyItems('updateWebhook getWebhook listWebhooks', item => ({ ...item, created_at: item.updated_at })),
  },
  {
    name: 'automation-change-undated',
    rule: 'updateAutomation getAutomation: updated_at',
    breaks: 'updated_at of an automation stays when it is changed.',
    ...replyItems('updateAutomation getAutomation listAutomations', item => ({ ...item, updated_at: item.created_at })),
  },
  {
    name: 'automation-created-when-changed',
    rule: 'updateAutomation getAutomation: created_at',
    breaks: 'created_at of an automation moves when it is changed.',
    ...replyItems('updateAutomation getAutomation listAutomations', item => ({ ...item, created_at: item.updated_at })),
  },
]

function twoDaysBefore(day: string): string {
  return new Date(Date.parse(day) - TWO_DAYS_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)
}

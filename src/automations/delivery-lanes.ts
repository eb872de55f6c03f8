/** Of all places, how many one webhook may take: a slow endpoint must leave some to the others. */
const SHARE_OF_ONE = 4
/** Of all places, how many may go to webhooks that fail, one to each: an endpoint that hangs keeps its place for the whole time-out. */
const SHARE_OF_FAILING = 2
/** For each place, how many deliveries are claimed: enough that an endpoint need not wait for the next claim. */
const CLAIMS_PER_PLACE = 16

export interface Claim {
  delivery: { webhook_id: string }
  /** Whether the webhook failed last, when it was claimed. */
  isFailing: boolean
}

interface Lane<Item> {
  waiting: Item[]
  sending: number
}

/** The deliveries that are claimed, in a lane for each webhook: some are being sent, the rest wait for a place. */
export class DeliveryLanes<Item extends Claim> {
  #places: number
  #lanes = new Map<string, Lane<Item>>()
  #claimed = 0
  #sending = 0
  #failing = 0

  /** `places`: how many may be sent at once. */
  constructor(places: number) {
    this.#places = places
  }

  get isFull(): boolean {
    return this.#claimed >= this.#places * CLAIMS_PER_PLACE
  }

  /** How many more of a webhook may be claimed, beside those of others that are being claimed now. */
  roomOf(webhookId: string, isFailing: boolean, others: readonly Claim[]): number {
    const lane = this.#lanes.get(webhookId)
    const own = lane ? lane.waiting.length + lane.sending : 0
    const all = this.#places * CLAIMS_PER_PLACE
    const room = Math.max(0, all - this.#claimed - others.length)
    if (!isFailing) return Math.min(room, Math.max(0, toShare(all, SHARE_OF_ONE) - own))
    const failing = this.#failing + others.filter(other => other.isFailing).length
    return own === 0 && failing < toShare(this.#places, SHARE_OF_FAILING) ? Math.min(room, 1) : 0
  }

  add(item: Item): void {
    const id = item.delivery.webhook_id
    const lane = this.#lanes.get(id)
    if (lane) lane.waiting.push(item)
    else this.#lanes.set(id, { waiting: [item], sending: 0 })
    this.#claimed++
    if (item.isFailing) this.#failing++
  }

  /** Takes a place for the next one, lane by lane in turn; null where nothing may be sent now. */
  next(): Item | null {
    if (this.#sending >= this.#places) return null
    for (const [id, lane] of this.#lanes) {
      if (lane.waiting.length === 0 || lane.sending >= toShare(this.#places, SHARE_OF_ONE)) continue
      this.#lanes.delete(id)
      this.#lanes.set(id, lane)
      lane.sending++
      this.#sending++
      return lane.waiting.shift()!
    }
    return null
  }

  /** Frees the place of one that was sent. It stays claimed. */
  sent(item: Item): void {
    this.#lanes.get(item.delivery.webhook_id)!.sending--
    this.#sending--
  }

  /** Forgets one whose claim is over. */
  ended(item: Item): void {
    const id = item.delivery.webhook_id
    const lane = this.#lanes.get(id)
    if (lane && lane.waiting.length === 0 && lane.sending === 0) this.#lanes.delete(id)
    this.#claimed--
    if (item.isFailing) this.#failing--
  }

  /** Takes out what waits, of one webhook or of all, to be given back. */
  takeWaiting(webhookId?: string): Item[] {
    const lanes = webhookId === undefined ? [...this.#lanes.values()] : [this.#lanes.get(webhookId)]
    const taken = lanes.flatMap(lane => lane?.waiting.splice(0) ?? [])
    for (const item of taken) this.ended(item)
    return taken
  }
}

function toShare(all: number, share: number): number {
  return Math.max(1, Math.floor(all / share))
}

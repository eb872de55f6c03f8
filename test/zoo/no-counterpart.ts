/** Faults of the measured list of other tools that nothing in our contract corresponds to, and why. */
export const noCounterpart: readonly { name: string; reason: string }[] = [
  { name: 'location-missing', reason: 'no operation of the contract answers with a Location' },
  {
    name: 'cors-missing',
    reason: 'the contract says nothing about CORS: whether browsers may call is a setting of the deployment',
  },
  { name: 'latency', reason: "the contract gives no times; how long a reply may take is the reader's own affair" },
  {
    name: 'status-200',
    reason: "the contract's only success is 200; the fault is turned round: status-201, status-202 and status-204",
  },
  {
    name: 'extra-accepted',
    reason: 'unknown keys of requests must be ignored here; the fault is turned round: extra-refused',
  },
  {
    name: 'crlf, comments, two data lines',
    reason: 'all three are right in an event stream; they are correct variants',
  },
  { name: 'multi-byte character split over chunks', reason: 'right in an event stream; a correct variant' },
  { name: 'gzip on streams', reason: 'right where a client accepts it; a correct variant' },
  { name: 'tool_calls deltas', reason: 'tool_choice allows `none` only, so no tool is ever called' },
  { name: '414', reason: 'no limit on the length of an address is declared' },
  { name: 'HEAD', reason: 'the contract declares no HEAD' },
  { name: 'time-out on a slow body', reason: 'the contract gives no times' },
]

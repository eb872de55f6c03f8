/** How the other tools were run, told beside their table. */
import { SCHEMATHESIS_EXAMPLES, SCHEMATHESIS_PHASES } from './peer-tools.ts'

export const PEER_NOTES: readonly string[] = [
  'Measured on 2 shared cores.',
  'The tools are run on the operations that the fault is about, at most four; where its rule names none, on four whose known traffic it' +
    ' changes, else on createModel, getModel, listModels and createChatCompletion. The suite is run as in `npm run zoo`: on these operations first, then whole; what it says of the' +
    ' correct variants stands in kill-matrix.md, and is not measured again here.',
  'Every tool is given the contract with things that are there as its examples, and a valid key.',
  `schemathesis: --max-examples ${SCHEMATHESIS_EXAMPLES}, phases ${SCHEMATHESIS_PHASES.join(', ')}; longer runs find more. The stream of` +
    ' chat is described to it in the form that it reads. A run of more than 90 seconds is given up.',
  'prism proxy and redocly respect: the same known traffic, of each operation one good request, one without a key, one with an unknown' +
    ' id, one with a bad body, one with a bad limit, and a streamed one, where the operation has such a thing. respect is told the status that must come.',
  'dredd: the successes alone, for it sends the same request for every status; the other statuses would need hooks written by hand.',
  'dredd and respect are not told the parts of multipart forms. None of the tools receives webhooks: faults of deliveries alone are not' +
    ' run, and count as missed.',
  '?: the tool came to no end, or gave no report; –: not run. Both are counted as missed.',
  'What a tool reports is told apart by its kind and operation: a second fault of a kind that it reports of the healthy service too is missed.',
  'The suite has been improved with all three zoos in mind, so its column tells little about faults that nobody thought of;' +
    ' src/contract/README.md has what it found of the held-out and the fresh zoo before.',
]

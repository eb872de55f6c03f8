import { expect, test } from 'vitest'
import { parseArtifactUri, toArtifactUri } from '../../src/artifacts/uri.ts'

test.each(['two words', "dätä ö+&;=@' 🚂.x", '🚂'.repeat(128), '..a'])(
  'the URI of an artifact named %s is read',
  name => {
    const place = { entity: 'my team', project: 'p', name }
    expect(parseArtifactUri(toArtifactUri('artifact', place), 'artifact')).toEqual({ ...place, version: null })
    expect(parseArtifactUri(toArtifactUri('artifact', place, 'my best'), 'artifact')).toEqual({
      ...place,
      version: 'my best',
    })
  },
)

test.each(['a', 'a/b', 'a/b/ c', 'a/b/c ', 'a/b/c: d', 'a/b/c:d:e', 'a/b/c\n', 'a//c'])('%j is no URI', rest => {
  expect(parseArtifactUri(`artifact:///${rest}`, 'artifact')).toBeNull()
})

import { describe, expect, it } from 'vitest'
import { toBar, toChartLine, toDuration, toTable } from '../../src/demo/chart.ts'
import { createScreen } from '../../src/demo/screen.ts'

describe('toBar', () => {
  it('fills its width to an eighth of a character', () => {
    expect(toBar(1, 1, 4)).toBe('████')
    expect(toBar(0.5, 1, 4)).toBe('██  ')
    expect(toBar(0.28125, 1, 4)).toBe('█▏  ')
    expect(toBar(0, 1, 4)).toBe('    ')
  })

  it('never leaves its width, whatever the value', () => {
    for (const value of [-1, 2, 1 / 3, Number.NaN, Number.POSITIVE_INFINITY]) {
      for (const most of [1, 0]) expect([...toBar(value, most, 10)]).toHaveLength(10)
    }
    expect(toBar(2, 1, 3)).toBe('███')
    expect(toBar(-1, 1, 3)).toBe('   ')
  })
})

describe('toChartLine', () => {
  it('shows label, bar, value and details, and paints nothing but the bar', () => {
    const row = { label: 'step 3', value: 0.75, most: 1, details: ['900 tokens/s', '2.0 s'] }
    const line = toChartLine(row, bar => `<${bar}>`)
    expect(line).toBe(`step 3  │<${'█'.repeat(30)}${' '.repeat(10)}>│   0.750  900 tokens/s  2.0 s`)
  })
})

describe('toDuration', () => {
  it.each([
    [1234, '1.2 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 00 s'],
    [125_400, '2 min 05 s'],
  ])('%i ms is %s', (milliseconds, expected) => {
    expect(toDuration(milliseconds)).toBe(expected)
  })
})

describe('toTable', () => {
  it('aligns columns and pads no line at its end', () => {
    expect(
      toTable([
        ['a', 'b', 'c'],
        ['long', 'x', ''],
        ['', 'wide', 'z'],
      ]),
    ).toEqual(['a      b      c', 'long   x', '       wide   z'])
  })
})

describe('createScreen', () => {
  function record(isTTY: boolean) {
    const written: string[] = []
    const screen = createScreen({ write: (text: string) => written.push(text) > 0, isTTY, columns: 10 } as never)
    return { written, screen }
  }

  it('clears a status before the next line, and cuts it to the terminal', () => {
    const { written, screen } = record(true)
    screen.status('a status that is too long')
    screen.print('a line that may be as long as it likes')
    screen.print()
    expect(written).toEqual(['a status ', '\r\u001b[2K', 'a line that may be as long as it likes\n', '\n'])
  })

  it('writes plain lines only where the output is no terminal', () => {
    const { written, screen } = record(false)
    screen.status('working')
    screen.print('a line')
    expect(written).toEqual(['a line\n'])
  })
})

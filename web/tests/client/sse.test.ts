import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventTooLargeError, type ServerSentEvent, SseParser } from '../../src/client/sse.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function parse(...chunks: (string | Uint8Array)[]): ServerSentEvent[] {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(typeof chunk === 'string' ? bytes(chunk) : chunk));
}

const message = (data: string, id = ''): ServerSentEvent => ({ type: 'message', data, id });

/** Random streams of lines that are easy to parse incorrectly. */
const stream = fc
  .array(
    fc.constantFrom(
      ...['data', 'data:', 'data: ', 'data:  two', 'data: é😀\u2028x', 'id: 7', 'id', 'id: a\0b'],
      ...[
        'event: ping',
        'event:',
        'retry: 20',
        'retry: x',
        ':',
        ': ping',
        'unknown: 1',
        ' data: x',
      ],
      ...['\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n', '\r\n\n', '\ufeff', ''],
    ),
    { maxLength: 60 },
  )
  .map((pieces) => bytes(pieces.join('')));

/** Split at the given positions, including within characters. */
function cut(whole: Uint8Array, places: number[]): Uint8Array[] {
  const ends = places.map((place) => place % (whole.length + 1)).sort((a, b) => a - b);
  return [...ends, whole.length].map((end, i) => whole.subarray(ends[i - 1] ?? 0, end));
}

/** Parse as the specification is written: all lines first, then their meaning. */
function bySpecification(whole: Uint8Array): ServerSentEvent[] {
  const lines = new TextDecoder().decode(whole).split(/\r\n|\r|\n/);
  lines.pop(); // text without a line end is not a line
  const events: ServerSentEvent[] = [];
  let [data, type, id] = ['', '', ''];
  for (const line of lines) {
    if (line === '') {
      if (data !== '') events.push({ type: type || 'message', data: data.slice(0, -1), id });
      [data, type] = ['', ''];
      continue;
    }
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data') data += value + '\n';
    if (field === 'event') type = value;
    if (field === 'id' && !value.includes('\0')) id = value;
  }
  return events;
}

describe('laws', () => {
  test('any chunking gives the same events', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), (whole, places) => {
        expect(parse(...cut(whole, places))).toEqual(parse(whole));
      }),
    );
  });

  test('the events are those of the specification', () => {
    fc.assert(
      fc.property(stream, (whole) => {
        expect(parse(whole)).toEqual(bySpecification(whole));
      }),
    );
  });

  test('random bytes never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (whole) => {
        expect(parse(whole)).toEqual(bySpecification(whole));
      }),
    );
  });
});

describe('cases of the specification', () => {
  test('lines of data are joined', () => {
    expect(parse('data: YHOO\ndata: +2\ndata: 10\n\n')).toEqual([message('YHOO\n+2\n10')]);
  });

  test('one byte order mark is dropped, wherever it is split', () => {
    const bytes = new TextEncoder().encode('\uFEFFdata: 1\n\n');
    const twice = new TextEncoder().encode('\uFEFF\uFEFFdata: 1\n\n');
    for (let end = 0; end <= twice.length; end++) {
      expect(parse(bytes.slice(0, end), bytes.slice(end))).toEqual([message('1')]);
      expect(parse(twice.slice(0, end), twice.slice(end))).toEqual([]);
    }
  });

  test('comments, ids and an id that is reset', () => {
    expect(parse(': test\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n')).toEqual([
      message('first', '1'),
      message('second'),
      message(' third'),
    ]);
  });

  test('data without a value is an empty line, and an event without a blank line is dropped', () => {
    expect(parse('data\n\ndata\ndata\n\ndata:')).toEqual([message(''), message('\n')]);
  });

  test('one space after the colon is dropped, a second one is kept', () => {
    expect(parse('data:test\n\ndata: test\n\ndata:  test\n\n')).toEqual([
      message('test'),
      message('test'),
      message(' test'),
    ]);
  });

  test('a byte order mark at the beginning is skipped, even if split between chunks', () => {
    expect(parse('\ufeffdata: x\n\n')).toEqual([message('x')]);
    expect(parse(Uint8Array.of(0xef, 0xbb), Uint8Array.of(0xbf), 'data: x\n\n')).toEqual([
      message('x'),
    ]);
  });

  test('a CR ends its line at once, and the LF of the next chunk does not end another', () => {
    const parser = new SseParser();
    expect(parser.push(bytes('data: x\r\n\r'))).toEqual([message('x')]);
    expect(parser.push(bytes('\ndata: y\r\n\r'))).toEqual([message('y')]);
  });

  test('retry is digits only', () => {
    const parser = new SseParser();
    parser.push(bytes('retry: 1.5\n'));
    expect(parser.retry).toBeUndefined();
    parser.push(bytes('retry: 250\n'));
    expect(parser.retry).toBe(250);
  });

  test('events keep the id that was set before them', () => {
    expect(parse('id: 4\n\ndata: x\n\nevent: other\ndata: y\n\n')).toEqual([
      message('x', '4'),
      { type: 'other', data: 'y', id: '4' },
    ]);
  });
});

test('an endless line or event is rejected at the limit', () => {
  for (const endless of ['data: xxxxxxxx', 'data: xxxxxxxx\n']) {
    const parser = new SseParser(100);
    expect(() => {
      for (let i = 0; i < 20; i++) parser.push(bytes(endless));
    }).toThrow(EventTooLargeError);
  }
});

test('a large event in many chunks takes linear time', () => {
  const parser = new SseParser();
  const piece = bytes('x'.repeat(64));
  parser.push(bytes('data: '));
  for (let i = 0; i < 80_000; i++) parser.push(piece);
  expect(parser.push(bytes('\n\n'))[0]?.data.length).toBe(64 * 80_000);
});

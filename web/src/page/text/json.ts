/**
 * Lays out JSON that may not be whole yet.
 *
 * Arguments are shown while they are written. Laid out the same way before and after their last
 * character, they grow and do not jump. It works on the text, not on what it means: numbers keep
 * their spelling, however big, and what is no JSON comes out as it went in.
 */

export type JsonPart = 'key' | 'text' | 'number' | 'word' | 'sign' | 'space';

export interface JsonToken {
  part: JsonPart;
  text: string;
}

/** What fits into so many characters stands on one line. */
const oneLine = 68;
const deepest = 24;
const word = /[^\s{}[\],:"]+/y;
const blank = /\s+/y;

/** The tokens of `text` with the white space between them made anew. Linear in its length. */
export function layOut(text: string): JsonToken[] {
  const tokens = tokensOf(text);
  const inLine = containersInLine(tokens);
  const out: JsonToken[] = [];
  // For each container that is open, whether it stands on one line.
  const open: boolean[] = [];
  let depth = 0;
  const newLine = () => {
    out.push({ part: 'space', text: '\n' + '  '.repeat(Math.min(depth, deepest)) });
  };
  tokens.forEach((token, place) => {
    const before = tokens[place - 1];
    const opened = before !== undefined && isOpening(before);
    if (isClosing(token)) {
      const flat = open.pop();
      if (flat === false) {
        depth -= 1;
        if (!opened) newLine();
      }
    } else if (opened && open.at(-1) === false) {
      newLine();
    } else if (before?.text === ',' && before.part === 'sign') {
      if (open.at(-1) === false) newLine();
      else out.push({ part: 'space', text: ' ' });
    } else if (before !== undefined && (isColon(before) || bothPlain(before, token))) {
      out.push({ part: 'space', text: ' ' });
    }
    out.push(token);
    if (isOpening(token)) {
      open.push(inLine.has(place));
      if (!inLine.has(place)) depth += 1;
    }
  });
  return out;
}

/** The same as one text. */
export function layOutText(text: string): string {
  return layOut(text)
    .map((token) => token.text)
    .join('');
}

/** The tokens of the first `lines` lines. */
export function firstLines(tokens: JsonToken[], lines: number): JsonToken[] {
  let left = lines;
  const end = tokens.findIndex((token) => {
    if (token.part === 'space' && token.text.startsWith('\n')) left -= 1;
    return left <= 0;
  });
  return end === -1 ? tokens : tokens.slice(0, end);
}

function tokensOf(text: string): JsonToken[] {
  const tokens: JsonToken[] = [];
  let at = 0;
  while (at < text.length) {
    blank.lastIndex = at;
    if (blank.test(text)) {
      at = blank.lastIndex;
      continue;
    }
    const sign = text.charAt(at);
    let end = at + 1;
    let part: JsonPart = 'sign';
    if (sign === '"') {
      end = endOfString(text, at);
      part = 'text';
    } else if (!'{}[],:'.includes(sign)) {
      word.lastIndex = at;
      word.test(text);
      end = word.lastIndex;
      part = /^-?\d/.test(text.slice(at, at + 2)) ? 'number' : 'word';
    } else if (sign === ':') {
      const last = tokens.at(-1);
      if (last?.part === 'text') last.part = 'key';
    }
    tokens.push({ part, text: text.slice(at, end) });
    at = end;
  }
  return tokens;
}

/** The places of brackets whose container, as far as it is there, fits into one line. */
function containersInLine(tokens: JsonToken[]): Set<number> {
  const found = new Set<number>();
  const open: { place: number; start: number }[] = [];
  let width = 0;
  const close = () => {
    const container = open.pop();
    if (container !== undefined && width - container.start <= oneLine) found.add(container.place);
  };
  tokens.forEach((token, place) => {
    if (isOpening(token)) open.push({ place, start: width });
    width += token.text.length + (token.text === ',' || token.text === ':' ? 1 : 0);
    if (isClosing(token)) close();
  });
  while (open.length > 0) close();
  return found;
}

function isOpening(token: JsonToken): boolean {
  return token.part === 'sign' && (token.text === '{' || token.text === '[');
}

function isClosing(token: JsonToken): boolean {
  return token.part === 'sign' && (token.text === '}' || token.text === ']');
}

function isColon(token: JsonToken): boolean {
  return token.part === 'sign' && token.text === ':';
}

/** Two words in a row are no JSON; they stay two. */
function bothPlain(one: JsonToken, other: JsonToken): boolean {
  return one.part !== 'sign' && other.part !== 'sign';
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (sign === '\\') at += 1;
    else if (sign === '"') return at + 1;
  }
  return text.length;
}

/** Whether a tool's answer is JSON that is worth laying out: an object or a list, and all of it. */
export function isStructured(text: string, limit = 200_000): boolean {
  if (text.length > limit || !/^\s*[[{]/.test(text)) return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

/**
 * A formatter for JSON that may be incomplete.
 *
 * Arguments are shown while they are being written. Formatting is the same before and after the
 * last character, so the text grows without jumping. The formatter works on text, not on values:
 * numbers of any size keep their digits, and in text that is not JSON only white space changes.
 */

export type JsonPart = 'key' | 'string' | 'number' | 'literal' | 'punctuation' | 'space';

export interface JsonToken {
  part: JsonPart;
  text: string;
}

/** Maximum number of characters of a container that is kept on one line. */
const maxLineWidth = 68;
const maxIndent = 24;
const bareword = /[^\s{}[\],:"]+/y;
const blank = /\s+/y;

/** Return the tokens of `text` with new white space between them, in time linear in its length. */
export function formatJson(text: string): JsonToken[] {
  const tokens = tokensOf(text);
  const inline = inlineContainers(tokens);
  const out: JsonToken[] = [];
  // For each open container: true if it is kept on one line.
  const open: boolean[] = [];
  let depth = 0;
  const newLine = () => {
    out.push({ part: 'space', text: '\n' + '  '.repeat(Math.min(depth, maxIndent)) });
  };
  tokens.forEach((token, index) => {
    const before = tokens[index - 1];
    const opened = before !== undefined && isOpening(before);
    if (isClosing(token)) {
      const fitsLine = open.pop();
      if (fitsLine === false) {
        depth -= 1;
        if (!opened) newLine();
      }
    } else if (opened && open.at(-1) === false) {
      newLine();
    } else if (before?.text === ',' && before.part === 'punctuation') {
      if (open.at(-1) === false) newLine();
      else out.push({ part: 'space', text: ' ' });
    } else if (before !== undefined && (isColon(before) || bothScalars(before, token))) {
      out.push({ part: 'space', text: ' ' });
    }
    out.push(token);
    if (isOpening(token)) {
      open.push(inline.has(index));
      if (!inline.has(index)) depth += 1;
    }
  });
  return out;
}

/** Return the formatted `text` as a string. */
export function formatJsonText(text: string): string {
  return formatJson(text)
    .map((token) => token.text)
    .join('');
}

/** Return the tokens of the first `lines` lines. */
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
    const char = text.charAt(at);
    let end = at + 1;
    let part: JsonPart = 'punctuation';
    if (char === '"') {
      end = endOfString(text, at);
      part = 'string';
    } else if (!'{}[],:'.includes(char)) {
      bareword.lastIndex = at;
      bareword.test(text);
      end = bareword.lastIndex;
      part = /^-?\d/.test(text.slice(at, at + 2)) ? 'number' : 'literal';
    } else if (char === ':') {
      const last = tokens.at(-1);
      if (last?.part === 'string') last.part = 'key';
    }
    tokens.push({ part, text: text.slice(at, end) });
    at = end;
  }
  return tokens;
}

/** Return the indices of opening brackets whose container, as received so far, fits on one line. */
function inlineContainers(tokens: JsonToken[]): Set<number> {
  const found = new Set<number>();
  const open: { index: number; start: number }[] = [];
  let width = 0;
  const close = () => {
    const container = open.pop();
    if (container !== undefined && width - container.start <= maxLineWidth)
      found.add(container.index);
  };
  tokens.forEach((token, index) => {
    if (isOpening(token)) open.push({ index, start: width });
    width += token.text.length + (token.text === ',' || token.text === ':' ? 1 : 0);
    if (isClosing(token)) close();
  });
  while (open.length > 0) close();
  return found;
}

function isOpening(token: JsonToken): boolean {
  return token.part === 'punctuation' && (token.text === '{' || token.text === '[');
}

function isClosing(token: JsonToken): boolean {
  return token.part === 'punctuation' && (token.text === '}' || token.text === ']');
}

function isColon(token: JsonToken): boolean {
  return token.part === 'punctuation' && token.text === ':';
}

/** Return true if neither token is punctuation. Such neighbours are not JSON; a space keeps them apart. */
function bothScalars(one: JsonToken, other: JsonToken): boolean {
  return one.part !== 'punctuation' && other.part !== 'punctuation';
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\') at += 1;
    else if (char === '"') return at + 1;
  }
  return text.length;
}

/** Return true if a tool's result is worth formatting: a complete JSON object or array within `limit`. */
export function isStructured(text: string, limit = 200_000): boolean {
  if (text.length > limit || !/^\s*[[{]/.test(text)) return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

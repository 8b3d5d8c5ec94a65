/**
 * A parser for the Markdown that models commonly write: fenced code, lists, headings, bold and
 * inline code.
 *
 * It makes one pass and produces a tree of plain strings, never markup: HTML in the input stays
 * text. An unclosed code block extends to the end of the text, so that streaming text does not
 * flicker.
 */

export interface Span {
  style: 'plain' | 'bold' | 'code';
  text: string;
}

export type Block =
  | { kind: 'paragraph'; spans: Span[] }
  | { kind: 'heading'; spans: Span[] }
  | { kind: 'item'; mark: string; depth: number; spans: Span[] }
  | { kind: 'code'; language: string; text: string };

const item = /^( {0,12})(?:([-*•])|(\d{1,4}[.)]))[ \t]+(?=\S)/;
const heading = /^#{1,6}[ \t]+(?=\S)/;
const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

/** Parse `text` into blocks, in time linear in its length. */
export function parseBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  let code: { mark: string; language: string; lines: string[] } | null = null;

  const endParagraph = () => {
    if (paragraph.length > 0) {
      blocks.push({ kind: 'paragraph', spans: parseSpans(paragraph.join('\n')) });
      paragraph = [];
    }
  };

  for (const line of text.split('\n')) {
    const fenceMatch = fence.exec(line);
    if (code !== null) {
      const closes =
        fenceMatch?.[1]?.startsWith(code.mark) === true && (fenceMatch[2] ?? '').trim() === '';
      if (!closes) {
        code.lines.push(line);
        continue;
      }
      blocks.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
      code = null;
      continue;
    }
    if (fenceMatch?.[1] !== undefined) {
      endParagraph();
      code = {
        mark: fenceMatch[1],
        language: (fenceMatch[2] ?? '').trim().slice(0, 40),
        lines: [],
      };
      continue;
    }
    if (line.trim() === '') {
      endParagraph();
      continue;
    }
    const itemMatch = item.exec(line);
    if (itemMatch !== null) {
      endParagraph();
      blocks.push({
        kind: 'item',
        mark: itemMatch[3] ?? '•',
        depth: Math.min(4, Math.floor((itemMatch[1] ?? '').length / 2)),
        spans: parseSpans(line.slice(itemMatch[0].length)),
      });
      continue;
    }
    const headingMatch = heading.exec(line);
    if (headingMatch !== null) {
      endParagraph();
      blocks.push({ kind: 'heading', spans: parseSpans(line.slice(headingMatch[0].length)) });
      continue;
    }
    paragraph.push(line);
  }
  endParagraph();
  if (code !== null) {
    blocks.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
  }
  return blocks;
}

/** Parse bold and inline code in `text`; unmatched delimiters remain plain text. */
export function parseSpans(text: string): Span[] {
  const spans: Span[] = [];
  const plain = (until: number) => {
    if (until > start) spans.push({ style: 'plain', text: text.slice(start, until) });
  };
  // A delimiter without a match after one position has none after any later position either.
  const unclosed = { '`': false, '**': false };
  let start = 0;
  let at = 0;
  while (at < text.length) {
    const mark = text.startsWith('**', at) ? '**' : text.charAt(at) === '`' ? '`' : null;
    if (mark === null || unclosed[mark]) {
      at += 1;
      continue;
    }
    const from = at + mark.length;
    const end = text.indexOf(mark, from);
    if (end === -1) {
      unclosed[mark] = true;
      at = from;
      continue;
    }
    const inner = text.slice(from, end);
    if (inner.trim() === '' || (mark === '**' && inner !== inner.trim())) {
      at = from;
      continue;
    }
    plain(at);
    spans.push({ style: mark === '`' ? 'code' : 'bold', text: inner });
    at = end + mark.length;
    start = at;
  }
  plain(text.length);
  return spans;
}

/**
 * The little formatting that models use, found in one pass: fenced code, lists, headings, bold,
 * and code within a line.
 *
 * It makes a tree of plain texts, never markup: what looks like HTML stays what it is, text. What
 * is not closed yet counts as open to the end, so that a text that streams does not flicker.
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

/** The blocks of `text`. Linear in its length. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  let code: { mark: string; language: string; lines: string[] } | null = null;

  const endParagraph = () => {
    if (paragraph.length > 0) {
      blocks.push({ kind: 'paragraph', spans: spansOf(paragraph.join('\n')) });
      paragraph = [];
    }
  };

  for (const line of text.split('\n')) {
    const fenced = fence.exec(line);
    if (code !== null) {
      const closes = fenced?.[1]?.startsWith(code.mark) === true && (fenced[2] ?? '').trim() === '';
      if (!closes) {
        code.lines.push(line);
        continue;
      }
      blocks.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
      code = null;
      continue;
    }
    if (fenced?.[1] !== undefined) {
      endParagraph();
      code = { mark: fenced[1], language: (fenced[2] ?? '').trim().slice(0, 40), lines: [] };
      continue;
    }
    if (line.trim() === '') {
      endParagraph();
      continue;
    }
    const listed = item.exec(line);
    if (listed !== null) {
      endParagraph();
      blocks.push({
        kind: 'item',
        mark: listed[3] ?? '•',
        depth: Math.min(4, Math.floor((listed[1] ?? '').length / 2)),
        spans: spansOf(line.slice(listed[0].length)),
      });
      continue;
    }
    const headed = heading.exec(line);
    if (headed !== null) {
      endParagraph();
      blocks.push({ kind: 'heading', spans: spansOf(line.slice(headed[0].length)) });
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

/** Bold and code within `text`; marks without a partner are text. */
export function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  const plain = (until: number) => {
    if (until > start) spans.push({ style: 'plain', text: text.slice(start, until) });
  };
  // A mark that has no partner further on has none for any later one either.
  const dead = { '`': false, '**': false };
  let start = 0;
  let at = 0;
  while (at < text.length) {
    const mark = text.startsWith('**', at) ? '**' : text.charAt(at) === '`' ? '`' : null;
    if (mark === null || dead[mark]) {
      at += 1;
      continue;
    }
    const from = at + mark.length;
    const end = text.indexOf(mark, from);
    if (end === -1) {
      dead[mark] = true;
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

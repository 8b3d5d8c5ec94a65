/**
 * Server-sent events, read as they arrive.
 *
 * Follows https://html.spec.whatwg.org/multipage/server-sent-events.html: the events do not depend
 * on how the bytes are split, and an event without its final blank line is dropped.
 *
 * ```ts
 * const parser = new SseParser();
 * parser.push(new TextEncoder().encode('id: 7\ndata: {"kind":'));  // []
 * parser.push(new TextEncoder().encode('"text"}\n\n'));            // [{ type: 'message', id: '7', data: '{"kind":"text"}' }]
 * ```
 */

/** One event: its type, its data with lines joined by `\n`, and the last id that was set. */
export interface ServerSentEvent {
  type: string;
  data: string;
  id: string;
}

/** Error of an event that exceeds the maximum length. */
export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError';
}

const LINE_END = /[\r\n]/g;

/** Parser of the bytes of one response; each response needs its own. */
export class SseParser {
  /** Milliseconds to wait before reconnecting, if the server has set them. */
  retry: number | undefined;

  readonly #maxEventLength: number;
  // Node's decoder drops a second byte order mark too, if the first is split between chunks.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #atStart = true;
  /** Chunks of an incomplete line. */
  #line: string[] = [];
  #lineLength = 0;
  /** True if the last character was a CR, so that a following LF ends no second line. */
  #afterCr = false;
  #type = '';
  #data: string[] = [];
  #dataLength = 0;
  #id = '';

  /** @param maxEventLength Maximum length of an event or a line, in UTF-16 code units. */
  constructor(maxEventLength = 64 * 1024 * 1024) {
    this.#maxEventLength = maxEventLength;
  }

  /** Add bytes and return the events that they complete. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const events: ServerSentEvent[] = [];
    let start = 0;
    if (this.#atStart && text.length > 0) {
      this.#atStart = false;
      if (text.startsWith('\uFEFF')) start = 1;
    }
    if (this.#afterCr && text.length > 0) {
      this.#afterCr = false;
      if (text.startsWith('\n')) start = 1;
    }
    LINE_END.lastIndex = start;
    for (let end = LINE_END.exec(text); end !== null; end = LINE_END.exec(text)) {
      this.#keep(text.slice(start, end.index));
      const event = this.#endLine();
      if (event) events.push(event);
      start = end.index + 1;
      if (end[0] === '\r') {
        if (start === text.length) this.#afterCr = true;
        else if (text[start] === '\n') start += 1;
      }
      LINE_END.lastIndex = start;
    }
    this.#keep(text.slice(start));
    return events;
  }

  #keep(piece: string): void {
    if (piece === '') return;
    this.#line.push(piece);
    this.#lineLength += piece.length;
    if (this.#lineLength + this.#dataLength > this.#maxEventLength) {
      throw new EventTooLargeError(
        `a server-sent event is longer than the ${this.#maxEventLength} characters allowed`,
      );
    }
  }

  #endLine(): ServerSentEvent | undefined {
    const line = this.#line.join('');
    this.#line = [];
    this.#lineLength = 0;
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined; // a comment, as heartbeats are
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    this.#set(field, value);
    return undefined;
  }

  #set(field: string, value: string): void {
    switch (field) {
      case 'data':
        this.#data.push(value);
        this.#dataLength += value.length + 1;
        break;
      case 'event':
        this.#type = value;
        break;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        break;
      case 'retry':
        if (/^[0-9]+$/.test(value)) this.retry = Number(value);
        break;
    }
  }

  #dispatch(): ServerSentEvent | undefined {
    const event =
      this.#data.length > 0
        ? { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id }
        : undefined;
    this.#type = '';
    this.#data = [];
    this.#dataLength = 0;
    return event;
  }
}

/**
 * Server-sent events, read as they arrive.
 *
 * Follows https://html.spec.whatwg.org/multipage/server-sent-events.html: wherever the bytes are
 * cut, the same events come out, and one that was not finished by its blank line is none.
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

/** An event grew past what the reader is willing to hold. */
export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError';
}

const LINE_END = /[\r\n]/g;

/** Turns the bytes of one response into events; a new response needs a new parser. */
export class SseParser {
  /** Milliseconds to wait before connecting again, where the server has said so. */
  retry: number | undefined;

  readonly #maxEventLength: number;
  readonly #decoder = new TextDecoder();
  /** The beginning of a line whose end has not come, in the pieces it came in. */
  #line: string[] = [];
  #lineLength = 0;
  /** The last character was a CR: an LF right after it ends no second line. */
  #afterCr = false;
  #type = '';
  #data: string[] = [];
  #dataLength = 0;
  #id = '';

  /** @param maxEventLength UTF-16 units that one event, or one line, may have. */
  constructor(maxEventLength = 64 * 1024 * 1024) {
    this.#maxEventLength = maxEventLength;
  }

  /** Takes the next bytes and returns the events that they finish. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const events: ServerSentEvent[] = [];
    let start = 0;
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

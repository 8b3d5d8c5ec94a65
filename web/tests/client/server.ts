/** A real HTTP server on loopback, scripted by the test that starts it. */
import { once } from 'node:events';
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export type { IncomingMessage, ServerResponse };

/** A running server. */
export interface TestServer extends AsyncDisposable {
  url: string;
  /** The requests received, in order. */
  requests: IncomingMessage[];
  /** Close every connection and stop listening, as a killed process does. */
  kill(): Promise<void>;
  /** Listen again on the same port. */
  restart(): Promise<void>;
}

/** Start a server that answers requests with `listener`. */
export async function serve(listener: RequestListener): Promise<TestServer> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const kill = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    kill,
    restart: () => listen(port),
    [Symbol.asyncDispose]: kill,
  };
}

/** Send the headers of an event stream. */
export function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  return response;
}

/** Return the sequence number after which a request resumes. */
export function cursorOf(request: IncomingMessage): number {
  return Number(request.headers['last-event-id'] ?? 0);
}

/** Return the frame of the event with a sequence number. */
export function frame(number: number, text = `é😀${number}`): string {
  const event = { kind: 'text', chatId: 'c1', sequenceNumber: number, messageId: 'm', delta: text };
  return `id: ${number}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Return the frames from `first` to `last`. */
export function frames(first: number, last: number): string {
  let all = '';
  for (let number = first; number <= last; number++) all += frame(number);
  return all;
}

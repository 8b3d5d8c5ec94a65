/** A chat server on loopback whose events are emitted by the test. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestServer, cursorOf, serve, stream } from '../client/server.ts';

type Event = Record<string, unknown> & { kind: string };

/** A running chat server, with everything that it received. */
export interface ChatServer extends TestServer {
  /** The events of each chat. */
  log: Map<string, Event[]>;
  /** The answers received, by key. */
  answers: Map<string, unknown>;
  /** The ids of runs for which a stop was requested. */
  stopped: string[];
  /** The messages posted, including those that were rejected. */
  posted: { text?: string; messageId?: string }[];
  /** Errors with which to reject the next posts. */
  rejections: { status: number; code: string; message: string }[];
  /** Return the number of open event streams. */
  subscriberCount(): number;
  /** Append events to a chat and send them to its subscribers. */
  emit(chatId: string, ...events: Event[]): void;
}

const playground = {
  title: 'Loom',
  headline: 'Ask the loom',
  intro: 'It knows patterns.\n\nIt knows <b>yarns</b>.',
  placeholder: 'Ask about weaving',
  links: [{ label: 'Help', url: '/help' }],
  hasLogo: false,
  suggestions: [{ label: 'Weather', text: 'How is the weather in Oslo?' }],
  pendingTimeout: 60_000,
};

/** Start a chat server. */
export async function serveChats(): Promise<ChatServer> {
  const log = new Map<string, Event[]>();
  const titles = new Map<string, unknown>();
  const answers = new Map<string, unknown>();
  const stopped: string[] = [];
  const posted: ChatServer['posted'] = [];
  const rejections: ChatServer['rejections'] = [];
  const subscribers = new Set<{ chatId: string; response: ServerResponse }>();

  const send = (response: ServerResponse, event: Event) => {
    response.write(`id: ${String(event.sequenceNumber)}\ndata: ${JSON.stringify(event)}\n\n`);
  };

  const emit = (chatId: string, ...events: Event[]) => {
    const chat = log.get(chatId) ?? [];
    log.set(chatId, chat);
    for (const event of events) {
      const sent = { chatId, sequenceNumber: chat.length + 1, timestampUtc: Date.now(), ...event };
      chat.push(sent);
      for (const each of subscribers) if (each.chatId === chatId) send(each.response, sent);
    }
  };

  const respond = (response: ServerResponse, status: number, body?: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body === undefined ? '' : JSON.stringify(body));
  };

  const notFound = (response: ServerResponse) => {
    respond(response, 404, { error: { code: 'no_chat', message: 'there is no such chat' } });
  };

  const route = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const [, , chatId = '', resource = '', key = ''] = path.split('/').map(decodeURIComponent);
    const route = `${request.method ?? ''} ${path.split('/')[1] ?? ''} ${resource}`.trimEnd();
    const body = await bodyOf(request);
    if (path === '/playground.json') {
      respond(response, 200, playground);
    } else if (route === 'GET chats' && chatId === '') {
      const chats = [...log.keys()].map((id) => ({
        chatId: id,
        createdUtc: Date.now(),
        updatedUtc: Date.now(),
        lastSequenceNumber: log.get(id)?.length ?? 0,
        metadata: titles.get(id) ?? {},
        ...(titles.has(id) ? {} : { title: 'Created through the API' }),
      }));
      respond(response, 200, { chats });
    } else if (route === 'POST chats') {
      const id = `chat-${log.size + 1}`;
      log.set(id, []);
      titles.set(id, body.metadata);
      respond(response, 201, { chatId: id });
    } else if (!log.has(chatId)) {
      notFound(response);
    } else if (route === 'DELETE chats') {
      log.delete(chatId);
      respond(response, 204);
    } else if (route === 'POST chats messages') {
      const message = body as { text?: string; messageId?: string };
      posted.push(message);
      const rejection = rejections.shift();
      if (rejection !== undefined) {
        respond(response, rejection.status, { error: rejection });
        return;
      }
      const runId = `run-${posted.length}`;
      const { messageId, text: delta } = message;
      const user = { kind: 'text', messageId, runId, role: 'user', delta, done: true };
      emit(chatId, ...(delta === undefined ? [] : [user]), {
        kind: 'run',
        runId,
        status: 'started',
      });
      respond(response, 202, { chatId, runId, messageId, sequenceNumber: 1 });
    } else if (route === 'POST chats answers') {
      answers.set(key, body);
      respond(response, 200, { outcome: 'resolved' });
    } else if (route === 'POST chats runs') {
      stopped.push(key);
      respond(response, 202, {});
    } else if (route === 'GET chats events') {
      const subscriber = { chatId, response: stream(response) };
      response.write(': welcome\n\n');
      for (const event of (log.get(chatId) ?? []).slice(cursorOf(request))) send(response, event);
      subscribers.add(subscriber);
      response.on('close', () => subscribers.delete(subscriber));
    } else {
      notFound(response);
    }
  };

  const server = await serve((request, response) => void route(request, response));
  return Object.assign(server, {
    log,
    answers,
    stopped,
    posted,
    rejections,
    emit,
    subscriberCount: () => subscribers.size,
  });
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

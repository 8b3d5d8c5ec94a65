/** A server of chats on loopback, whose assistant says what the test lets it say. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestServer, cursorOf, serve, stream } from '../client/server.ts';

type Event = Record<string, unknown> & { kind: string };

export interface ChatServer extends TestServer {
  /** The events of each chat. */
  log: Map<string, Event[]>;
  /** What was answered, by key. */
  answers: Map<string, unknown>;
  /** The runs that were told to stop. */
  stopped: string[];
  /** The messages that were posted, whether they were taken or not. */
  posted: { text?: string; messageId?: string }[];
  /** Status codes to refuse the next posts with. */
  refusals: { status: number; code: string; message: string }[];
  /** How many connections follow a chat. */
  followers(): number;
  /** Adds events to a chat and tells all who listen. */
  tell(chatId: string, ...events: Event[]): void;
}

const playground = {
  title: 'Loom',
  headline: 'Ask the loom',
  suggestions: [{ label: 'Weather', text: 'How is the weather in Oslo?' }],
  pendingTimeout: 60_000,
};

export async function serveChats(): Promise<ChatServer> {
  const log = new Map<string, Event[]>();
  const titles = new Map<string, unknown>();
  const answers = new Map<string, unknown>();
  const stopped: string[] = [];
  const posted: ChatServer['posted'] = [];
  const refusals: ChatServer['refusals'] = [];
  const listeners = new Set<{ chatId: string; response: ServerResponse }>();

  const send = (response: ServerResponse, event: Event) => {
    response.write(`id: ${String(event.sequenceNumber)}\ndata: ${JSON.stringify(event)}\n\n`);
  };

  const tell = (chatId: string, ...events: Event[]) => {
    const chat = log.get(chatId) ?? [];
    log.set(chatId, chat);
    for (const event of events) {
      const told = { chatId, sequenceNumber: chat.length + 1, timestampUtc: Date.now(), ...event };
      chat.push(told);
      for (const each of listeners) if (each.chatId === chatId) send(each.response, told);
    }
  };

  const answer = (response: ServerResponse, status: number, body?: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body === undefined ? '' : JSON.stringify(body));
  };

  const missing = (response: ServerResponse) => {
    answer(response, 404, { error: { code: 'no_chat', message: 'there is no such chat' } });
  };

  const route = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const [, , chatId = '', what = '', key = ''] = path.split('/').map(decodeURIComponent);
    const route = `${request.method ?? ''} ${path.split('/')[1] ?? ''} ${what}`.trimEnd();
    const body = await bodyOf(request);
    if (path === '/playground.json') {
      answer(response, 200, playground);
    } else if (route === 'GET chats' && chatId === '') {
      const chats = [...log.keys()].map((id) => ({
        chatId: id,
        createdUtc: Date.now(),
        updatedUtc: Date.now(),
        lastSequenceNumber: log.get(id)?.length ?? 0,
        metadata: titles.get(id) ?? {},
        ...(titles.has(id) ? {} : { title: 'Said to the API' }),
      }));
      answer(response, 200, { chats });
    } else if (route === 'POST chats') {
      const id = `chat-${log.size + 1}`;
      log.set(id, []);
      titles.set(id, body.metadata);
      answer(response, 201, { chatId: id });
    } else if (!log.has(chatId)) {
      missing(response);
    } else if (route === 'DELETE chats') {
      log.delete(chatId);
      answer(response, 204);
    } else if (route === 'POST chats messages') {
      const said = body as { text?: string; messageId?: string };
      posted.push(said);
      const refusal = refusals.shift();
      if (refusal !== undefined) {
        answer(response, refusal.status, { error: refusal });
        return;
      }
      const runId = `run-${posted.length}`;
      const { messageId, text: delta } = said;
      const user = { kind: 'text', messageId, runId, role: 'user', delta, done: true };
      tell(chatId, ...(delta === undefined ? [] : [user]), {
        kind: 'run',
        runId,
        status: 'started',
      });
      answer(response, 202, { chatId, runId, messageId, sequenceNumber: 1 });
    } else if (route === 'POST chats answers') {
      answers.set(key, body);
      answer(response, 200, { outcome: 'resolved' });
    } else if (route === 'POST chats runs') {
      stopped.push(key);
      answer(response, 202, {});
    } else if (route === 'GET chats events') {
      const listener = { chatId, response: stream(response) };
      response.write(': welcome\n\n');
      for (const event of (log.get(chatId) ?? []).slice(cursorOf(request))) send(response, event);
      listeners.add(listener);
      response.on('close', () => listeners.delete(listener));
    } else {
      missing(response);
    }
  };

  const server = await serve((request, response) => void route(request, response));
  return Object.assign(server, {
    log,
    answers,
    stopped,
    posted,
    refusals,
    tell,
    followers: () => listeners.size,
  });
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

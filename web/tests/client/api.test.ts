import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { ChatApi, newId } from '../../src/client/api.ts';
import {
  type IncomingMessage,
  type TestServer,
  cursorOf,
  frames,
  serve,
  stream,
} from './server.ts';

interface Asked {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: unknown;
}

/** A server that answers everything alike and keeps what it was asked. */
async function answering(
  status: number,
  body: unknown,
): Promise<{ server: TestServer; api: ChatApi; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = await serve((request, response) => {
    void text(request).then((sent) => {
      const { method, url, headers } = request;
      asked.push({ method, url, headers, body: sent === '' ? undefined : JSON.parse(sent) });
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    });
  });
  return { server, asked, api: new ChatApi({ base: server.url, headers: { 'x-user': 'ada' } }) };
}

describe('calls', () => {
  const said = { chatId: 'c/1', runId: 'r', messageId: 'm', sequenceNumber: 4 };
  const calls: [string, (api: ChatApi) => Promise<unknown>, string, unknown][] = [
    ['createChat', (api) => api.createChat({ chatId: 'c1' }), 'POST /chats', { chatId: 'c1' }],
    [
      'chats',
      (api) => api.chats({ limit: 5, before: 'a&b' }),
      'GET /chats?limit=5&before=a%26b',
      undefined,
    ],
    ['chat', (api) => api.chat('c/1'), 'GET /chats/c%2F1', undefined],
    [
      'send',
      (api) => api.send('c/1', 'Hi', 'm'),
      'POST /chats/c%2F1/messages',
      { text: 'Hi', messageId: 'm' },
    ],
    ['resume', (api) => api.resume('c1'), 'POST /chats/c1/messages', {}],
    ['stop', (api) => api.stop('c1', 'r 1'), 'POST /chats/c1/runs/r%201/stop', {}],
    [
      'answer',
      (api) => api.answer('c1', 'k/1', { approved: false, reason: 'no' }),
      'POST /chats/c1/answers/k%2F1',
      { approved: false, reason: 'no' },
    ],
    ['remove', (api) => api.remove('c1'), 'DELETE /chats/c1', undefined],
    ['playground', (api) => api.playground(), 'GET /playground.json', undefined],
  ];

  test.for(calls)('%s', async ([, call, line, body]) => {
    const { server, api, asked } = await answering(200, said);
    await using _ = server;
    expect(await call(api)).toMatchObject({ ok: true });
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([line]);
    expect(asked[0]?.body).toEqual(body);
    expect(asked[0]?.headers['x-user']).toBe('ada');
    if (body !== undefined) expect(asked[0]?.headers['content-type']).toBe('application/json');
  });

  test('give what the server answered', async () => {
    const { server, api } = await answering(202, said);
    await using _ = server;
    expect(await api.send('c1', 'Hi')).toEqual({ ok: true, value: said });
  });

  test('that are answered with nothing succeed too', async () => {
    const { server, api } = await answering(204, undefined);
    await using _ = server;
    expect(await api.remove('c1')).toEqual({ ok: true, value: undefined });
  });

  test('give the list of chats without its wrapping', async () => {
    const { server, api } = await answering(200, { chats: [{ chatId: 'c1' }] });
    await using _ = server;
    expect(await api.chats()).toEqual({ ok: true, value: [{ chatId: 'c1' }] });
  });

  test('are beside the page unless told otherwise', () => {
    expect(new ChatApi().exportUrl('c 1')).toBe('./chats/c%201/export');
  });
});

describe('failures are data', () => {
  test('what the server says', async () => {
    const { server, api } = await answering(409, {
      error: { code: 'chat_busy', message: 'a run is active' },
    });
    await using _ = server;
    expect(await api.send('c1', 'Hi')).toEqual({
      ok: false,
      error: { status: 409, code: 'chat_busy', message: 'a run is active' },
    });
  });

  test('an answer that was not taken', async () => {
    const { server, api } = await answering(409, { outcome: 'not_found' });
    await using _ = server;
    const message = 'the answer was not taken: not found';
    expect(await api.answer('c1', 'k', { approved: true })).toEqual({
      ok: false,
      error: { status: 409, code: 'not_found', message },
    });
  });

  test('what a proxy says', async () => {
    for (const body of ['<h1>Bad gateway</h1>', 'null', '{"error": "x"}', '']) {
      const { server, api } = await answering(502, body);
      await using _ = server;
      expect(await api.chat('c1')).toEqual({
        ok: false,
        error: { status: 502, code: 'http_502', message: 'the server answered 502 Bad Gateway' },
      });
    }
  });

  test('an answer that is not JSON', async () => {
    const { server, api } = await answering(200, '<html>');
    await using _ = server;
    expect(await api.playground()).toMatchObject({ ok: false, error: { code: 'not_json' } });
  });

  test('a server that is not there', async () => {
    const { server, api } = await answering(200, {});
    await server.kill();
    expect(await api.createChat()).toEqual({
      ok: false,
      error: { status: 0, code: 'unreachable', message: 'the server cannot be reached' },
    });
  });

  test('a server that does not answer', async () => {
    await using server = await serve(() => undefined);
    const api = new ChatApi({ base: server.url, timeout: 20 });
    expect(await api.createChat()).toMatchObject({ ok: false, error: { code: 'timeout' } });
  });
});

test('events of a chat come as a stream that follows', async () => {
  await using server = await serve((request, response) => {
    if (cursorOf(request) > 0) response.writeHead(204).end();
    else stream(response).end(frames(1, 2));
  });
  const api = new ChatApi({ base: server.url, headers: { 'x-user': 'ada' } });
  const seen: unknown[] = [];
  for await (const event of api.events('c/1')) seen.push(event.sequenceNumber);
  expect(seen).toEqual([1, 2]);
  expect(server.requests[0]?.url).toBe('/chats/c%2F1/events?follow=1');
  expect(server.requests[1]?.headers).toMatchObject({ 'x-user': 'ada', 'last-event-id': '2' });
});

test('ids are made that nobody else makes', () => {
  const ids = new Set(Array.from({ length: 1000 }, newId));
  expect(ids.size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

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

interface ReceivedRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: unknown;
}

/** Start a server that gives every request the same response and records the requests. */
async function serveResponse(
  status: number,
  body: unknown,
): Promise<{ server: TestServer; api: ChatApi; received: ReceivedRequest[] }> {
  const received: ReceivedRequest[] = [];
  const server = await serve((request, response) => {
    void text(request).then((content) => {
      const { method, url, headers } = request;
      received.push({
        method,
        url,
        headers,
        body: content === '' ? undefined : JSON.parse(content),
      });
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    });
  });
  return { server, received, api: new ChatApi({ base: server.url, headers: { 'x-user': 'ada' } }) };
}

describe('calls', () => {
  const receipt = { chatId: 'c/1', runId: 'r', messageId: 'm', sequenceNumber: 4 };
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
    const { server, api, received } = await serveResponse(200, receipt);
    await using _ = server;
    expect(await call(api)).toMatchObject({ ok: true });
    expect(received.map(({ method, url }) => `${method} ${url}`)).toEqual([line]);
    expect(received[0]?.body).toEqual(body);
    expect(received[0]?.headers['x-user']).toBe('ada');
    if (body !== undefined) expect(received[0]?.headers['content-type']).toBe('application/json');
  });

  test('return the body of the response', async () => {
    const { server, api } = await serveResponse(202, receipt);
    await using _ = server;
    expect(await api.send('c1', 'Hi')).toEqual({ ok: true, value: receipt });
  });

  test('succeed with an empty response', async () => {
    const { server, api } = await serveResponse(204, undefined);
    await using _ = server;
    expect(await api.remove('c1')).toEqual({ ok: true, value: undefined });
  });

  test('unwrap the list of chats', async () => {
    const { server, api } = await serveResponse(200, { chats: [{ chatId: 'c1' }] });
    await using _ = server;
    expect(await api.chats()).toEqual({ ok: true, value: [{ chatId: 'c1' }] });
  });

  test('are relative to the page by default', () => {
    expect(new ChatApi().exportUrl('c 1')).toBe('./chats/c%201/export');
  });
});

describe('failures are returned as values', () => {
  test('an error of the server', async () => {
    const { server, api } = await serveResponse(409, {
      error: { code: 'chat_busy', message: 'a run is active' },
    });
    await using _ = server;
    expect(await api.send('c1', 'Hi')).toEqual({
      ok: false,
      error: { status: 409, code: 'chat_busy', message: 'a run is active' },
    });
  });

  test('an answer that was not accepted', async () => {
    const { server, api } = await serveResponse(409, { outcome: 'not_found' });
    await using _ = server;
    const message = 'the answer was not taken: not found';
    expect(await api.answer('c1', 'k', { approved: true })).toEqual({
      ok: false,
      error: { status: 409, code: 'not_found', message },
    });
  });

  test('an error of a proxy', async () => {
    for (const body of ['<h1>Bad gateway</h1>', 'null', '{"error": "x"}', '']) {
      const { server, api } = await serveResponse(502, body);
      await using _ = server;
      expect(await api.chat('c1')).toEqual({
        ok: false,
        error: { status: 502, code: 'http_502', message: 'the server answered 502 Bad Gateway' },
      });
    }
  });

  test('a response that is not JSON', async () => {
    const { server, api } = await serveResponse(200, '<html>');
    await using _ = server;
    expect(await api.playground()).toMatchObject({ ok: false, error: { code: 'not_json' } });
  });

  test('an unreachable server', async () => {
    const { server, api } = await serveResponse(200, {});
    await server.kill();
    expect(await api.createChat()).toEqual({
      ok: false,
      error: { status: 0, code: 'unreachable', message: 'the server cannot be reached' },
    });
  });

  test('a server that does not respond', async () => {
    await using server = await serve(() => undefined);
    const api = new ChatApi({ base: server.url, timeout: 20 });
    expect(await api.createChat()).toMatchObject({ ok: false, error: { code: 'timeout' } });
  });
});

test('events of a chat are followed across connections', async () => {
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

test('ids are unique', () => {
  const ids = new Set(Array.from({ length: 1000 }, newId));
  expect(ids.size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

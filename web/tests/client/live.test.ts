import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { ChatApi } from '../../src/client/api.ts';
import type { StreamEvent } from '../../src/client/events.ts';
import { type ChatState, LiveChat, type LiveChatOptions } from '../../src/client/live.ts';
import { StreamReducer } from '../../src/client/reducer.ts';
import { type TestServer, cursorOf, frame, frames, serve, stream } from './server.ts';

const LAST = 4;

/** Open the chat `c1` of a server, without a delay before the state changes. */
function live(server: TestServer, options: LiveChatOptions = { interval: 0 }): LiveChat {
  return new LiveChat(new ChatApi({ base: server.url }), 'c1', options);
}

/** Subscribe until the state meets a condition, and return that state. */
function until(chat: LiveChat, met: (state: ChatState) => boolean): Promise<ChatState> {
  return new Promise((resolve) => {
    const look = (): void => {
      const state = chat.getState();
      if (!met(state)) return;
      unsubscribe();
      resolve(state);
    };
    const unsubscribe = chat.subscribe(look);
  });
}

const read = (last: number) => (state: ChatState) => state.snapshot.lastSequenceNumber >= last;

/** Return the frame of an event of a run. */
function framed(event: StreamEvent): string {
  return `id: ${event.sequenceNumber ?? ''}\ndata: ${JSON.stringify(event)}\n\n`;
}

const STARTED = { kind: 'run', sequenceNumber: 1, runId: 'r', status: 'started' } as const;
const FINISHED = { kind: 'run', sequenceNumber: 2, runId: 'r', status: 'finished' } as const;

describe('the state of a followed chat', () => {
  test('is that of all its events, however often subscribers leave and connections break', async () => {
    const whole = new StreamReducer();
    for (const line of frames(1, LAST).split('\n')) {
      if (line.startsWith('data: ')) whole.push(JSON.parse(line.slice(6)) as StreamEvent);
    }
    let cuts: number[] = [];
    await using server = await serve((request, response) => {
      const rest = Buffer.from(frames(cursorOf(request) + 1, LAST));
      const keep = cuts.shift();
      if (keep === undefined) stream(response).write(rest);
      else stream(response).write(rest.subarray(0, keep), () => response.destroy());
    });
    const cut = fc.nat(Buffer.byteLength(frames(1, LAST)));
    const visits = fc.array(fc.integer({ min: 0, max: LAST }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(cut, { maxLength: 3 }), visits, async (where, stays) => {
        cuts = [...where];
        const chat = live(server);
        const retry = setInterval(() => chat.reconnect(), 1);
        for (const last of stays) await until(chat, read(last));
        const { snapshot } = await until(chat, read(LAST));
        clearInterval(retry);
        expect(snapshot).toEqual(whole.snapshot());
        expect(chat.getState().status).toEqual({ state: 'ended' });
      }),
      { numRuns: 40 },
    );
  });

  test('is one object until it changes, and subscribers are called once for each change', async () => {
    await using server = await serve((request, response) => {
      stream(response).write(frames(cursorOf(request) + 1, LAST));
    });
    const chat = live(server);
    const seen: ChatState[] = [];
    expect(chat.getState()).toBe(chat.getState());
    const unsubscribe = chat.subscribe(() => seen.push(chat.getState()));
    await until(chat, (state) => read(LAST)(state) && state.status.state === 'live');
    await sleep(20);
    expect(seen.at(-1)).toBe(chat.getState());
    expect(new Set(seen).size).toBe(seen.length);
    unsubscribe();
    expect(chat.getState().status).toEqual({ state: 'ended' });
  });

  test('has its unchanged parts in common with the state before', async () => {
    let more = (): void => undefined;
    await using server = await serve((request, response) => {
      const body = stream(response);
      body.write(frames(cursorOf(request) + 1, 1));
      more = () => body.write(framed({ ...STARTED, sequenceNumber: 2 }));
    });
    const chat = live(server);
    const unsubscribe = chat.subscribe(() => undefined);
    const first = await until(chat, read(1));
    more();
    const last = await until(chat, read(2));
    unsubscribe();
    expect(last.snapshot.messages).toBe(first.snapshot.messages);
    expect(last.snapshot.runs).not.toBe(first.snapshot.runs);
    expect(last.activeRun).toEqual({ runId: 'r', status: 'started' });
  });

  test('changes once for a call that times out, though no event says so', async () => {
    const call = { toolCallId: 'call_0', index: 0, name: 'wait', arguments: {} };
    await using server = await serve((_, response) => {
      stream(response).write(
        framed({
          kind: 'tools_call',
          sequenceNumber: 1,
          messageId: 'm',
          timestampUtc: Date.now(),
          toolCalls: [call],
        }),
      );
    });
    // After a second nothing has changed yet; after two it has.
    const chat = live(server, { interval: 0, pendingTimeout: 1200 });
    const seen: string[] = [];
    const unsubscribe = chat.subscribe(() => {
      const { snapshot, status } = chat.getState();
      if (status.state === 'live') seen.push(snapshot.messages[0]?.toolCalls?.[0]?.state ?? '');
    });
    await until(chat, ({ snapshot }) => snapshot.messages[0]?.toolCalls?.[0]?.state === 'timeout');
    unsubscribe();
    expect(seen.filter((state) => state !== '')).toEqual(['pending', 'timeout']);
  });

  test('is not read before the first subscription or after the last', async () => {
    await using server = await serve((_, response) => {
      stream(response).write(frame(1));
    });
    const chat = live(server);
    chat.reconnect();
    await sleep(20);
    expect(server.requests).toEqual([]);
    await until(chat, read(1));
    await vi.waitFor(() => expect(server.requests[0]?.socket.destroyed).toBe(true));
    expect(server.requests.length).toBe(1);
  });

  test('reports why a chat cannot be read, and recovers with the next message', async () => {
    let exists = false;
    await using server = await serve((request, response) => {
      if (request.method === 'POST') {
        exists = true;
        response.writeHead(202).end(JSON.stringify({ chatId: 'c1', runId: 'r' }));
      } else if (exists) {
        stream(response).write(frame(1));
      } else {
        response.writeHead(404).end('{"error": {"code": "unknown_chat", "message": "no"}}');
      }
    });
    const chat = live(server);
    const { status } = await until(chat, (state) => state.status.state === 'failed');
    expect(status).toMatchObject({ error: { status: 404, code: 'unknown_chat' } });
    const shown = until(chat, read(1));
    await until(chat, (state) => state.status.state === 'failed');
    expect(await chat.send('Hello')).toMatchObject({ ok: true });
    expect((await shown).snapshot.messages).toHaveLength(1);
  });
});

describe('requests', () => {
  test('stop the active run, and nothing where there is none', async () => {
    await using server = await serve((request, response) => {
      if (request.method === 'POST') response.writeHead(202).end('{}');
      else stream(response).write(framed(STARTED));
    });
    const chat = live(server);
    expect(await chat.stop()).toEqual({ ok: true, value: undefined });
    await until(chat, ({ activeRun }) => activeRun !== undefined);
    await chat.stop();
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /chats/c1/events?follow=1',
      'POST /chats/c1/runs/r/stop',
    ]);
  });

  test('after a stream that the server has ended are followed by another', async () => {
    let finished = false;
    await using server = await serve((request, response) => {
      if (request.method === 'POST') {
        finished = true;
        response.writeHead(200).end('{"outcome": "resolved"}');
      } else if (cursorOf(request) === 0) {
        stream(response).end(framed(STARTED));
      } else if (finished) {
        stream(response).write(framed(FINISHED));
      } else {
        response.writeHead(204).end();
      }
    });
    const chat = live(server);
    const ended = until(chat, ({ activeRun, snapshot }) => !activeRun && snapshot.runs.length > 0);
    await until(chat, ({ status, activeRun }) => status.state === 'ended' && !!activeRun);
    expect(await chat.answer('key', { approved: true })).toMatchObject({ ok: true });
    expect((await ended).snapshot.runs).toMatchObject([{ status: 'finished' }]);
  });
});

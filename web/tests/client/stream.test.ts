import { once } from 'node:events';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { EventStream, type StreamOptions, type StreamStatus } from '../../src/client/stream.ts';
import { type ServerResponse, cursorOf, frame, frames, serve, stream } from './server.ts';

/** Options without delays between attempts. */
const QUICK: StreamOptions = { firstDelay: 0, maxDelay: 0 };

async function numbers(events: EventStream): Promise<number[]> {
  const seen: number[] = [];
  for await (const event of events) seen.push(event.sequenceNumber);
  return seen;
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);

/** Record the states of a stream, with promises for future ones. */
function recorder(): {
  states: StreamStatus[];
  onStatus: (s: StreamStatus) => void;
  next: (state: StreamStatus['state']) => Promise<StreamStatus>;
} {
  const states: StreamStatus[] = [];
  let waiting: { state: string; resolve: (s: StreamStatus) => void }[] = [];
  return {
    states,
    onStatus: (status) => {
      states.push(status);
      const matching = waiting.filter(({ state }) => state === status.state);
      waiting = waiting.filter(({ state }) => state !== status.state);
      for (const { resolve } of matching) resolve(status);
    },
    next: (state) => new Promise((resolve) => waiting.push({ state, resolve })),
  };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('connections that are lost', () => {
  const LAST = 3;
  const whole = frames(1, LAST);
  const total = Buffer.byteLength(whole);

  test('at every byte lose and repeat no event', async () => {
    let keep = 0;
    let first = true;
    await using server = await serve((request, response) => {
      if (first) {
        first = false;
        stream(response).write(Buffer.from(whole).subarray(0, keep), () => response.destroy());
      } else if (cursorOf(request) < LAST) {
        stream(response).end(frames(cursorOf(request) + 1, LAST));
      } else {
        response.writeHead(204).end();
      }
    });
    for (keep = 0; keep <= total; keep++) {
      first = true;
      expect(await numbers(new EventStream(server.url, QUICK))).toEqual(upTo(LAST));
    }
  });

  test('repeatedly, cleanly or not, with replays of earlier events', async () => {
    let script: { keep: number; back: number; orderly: boolean }[] = [];
    await using server = await serve((request, response) => {
      const cursor = cursorOf(request);
      const step = script.shift() ?? { keep: total, back: 0, orderly: true };
      if (cursor >= LAST) {
        response.writeHead(204).end();
        return;
      }
      const rest = Buffer.from(frames(Math.max(1, cursor + 1 - step.back), LAST));
      stream(response).write(rest.subarray(0, step.keep), () =>
        step.orderly ? response.end() : response.destroy(),
      );
    });
    const cuts = fc.record({
      keep: fc.nat(total),
      back: fc.nat(LAST),
      orderly: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(cuts, { maxLength: 12 }), async (steps) => {
        script = [...steps];
        expect(await numbers(new EventStream(server.url, QUICK))).toEqual(upTo(LAST));
      }),
      { numRuns: 60 },
    );
  });

  test('to a server that is killed and restarted', async () => {
    const open: ServerResponse[] = [];
    await using server = await serve((request, response) => {
      open.push(stream(response));
      response.write(cursorOf(request) === 0 ? frames(1, 3) : frame(4));
    });
    const { onStatus, next } = recorder();
    const lost = next('waiting');
    const events = new EventStream(`${server.url}?follow=1`, { ...QUICK, maxDelay: 5, onStatus });
    const seen: number[] = [];
    for await (const event of events) {
      seen.push(event.sequenceNumber);
      if (seen.length === 3) {
        await server.kill();
        void lost.then(() => server.restart());
      }
      if (seen.length === 4) break;
    }
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(server.requests.at(-1)?.headers['last-event-id']).toBe('3');
  });
});

describe('a stream ends', () => {
  test('at 204', async () => {
    await using server = await serve((_, response) => response.writeHead(204).end());
    const { states, onStatus } = recorder();
    expect(await numbers(new EventStream(server.url, { onStatus }))).toEqual([]);
    expect(states).toEqual([{ state: 'ended' }]);
  });

  test('not at the end of a response, after which it asks for more events', async () => {
    await using server = await serve((request, response) => {
      if (cursorOf(request) < 2) stream(response).end(frames(1, 2));
      else response.writeHead(204).end();
    });
    const { states, onStatus } = recorder();
    expect(await numbers(new EventStream(server.url, { onStatus }))).toEqual([1, 2]);
    expect(states.map(({ state }) => state)).toEqual(['live', 'connecting', 'ended']);
    expect(server.requests.map(cursorOf)).toEqual([0, 2]);
  });

  test('at an error response, with the error of the server', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"error": {"code": "unknown_chat", "message": "no chat has the id \\"c1\\""}}');
    });
    const events = new EventStream(server.url);
    expect(await numbers(events)).toEqual([]);
    expect(events.status).toEqual({
      state: 'failed',
      error: { status: 404, code: 'unknown_chat', message: 'no chat has the id "c1"' },
    });
  });

  test('at a response that is not an event stream', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    });
    const events = new EventStream(server.url);
    expect(await numbers(events)).toEqual([]);
    expect(events.status).toMatchObject({ state: 'failed', error: { code: 'not_a_stream' } });
  });

  test('after the maximum number of consecutive failures', async () => {
    await using server = await serve((_, response) => response.destroy());
    const { states, onStatus } = recorder();
    const events = new EventStream(server.url, { ...QUICK, maxFailures: 3, onStatus });
    expect(await numbers(events)).toEqual([]);
    expect(states.map(({ state }) => state)).toEqual([
      ...['waiting', 'connecting', 'waiting', 'connecting', 'waiting', 'connecting', 'failed'],
    ]);
    expect(events.status).toMatchObject({ error: { status: 0, code: 'unreachable' } });
  });
});

describe('stopping', () => {
  test('a reader that breaks off closes the connection', async () => {
    const closed = Promise.withResolvers<undefined>();
    await using server = await serve((_, response) => {
      response.on('close', () => closed.resolve(undefined));
      stream(response).write(frames(1, 3));
    });
    const events = new EventStream(server.url);
    for await (const event of events) if (event.sequenceNumber === 2) break;
    await closed.promise;
    expect(events.status).toEqual({ state: 'ended' });
    expect(events.lastSequenceNumber).toBe(2);
  });

  test.for(['stop', 'signal'] as const)('%s ends a stream that waits for events', async (way) => {
    await using server = await serve((_, response) => stream(response).write(frame(1)));
    const aborting = new AbortController();
    const events = new EventStream(server.url, { signal: aborting.signal });
    const seen: number[] = [];
    for await (const event of events) {
      seen.push(event.sequenceNumber);
      setImmediate(() => (way === 'stop' ? events.stop() : aborting.abort()));
    }
    expect(seen).toEqual([1]);
    expect(events.status).toEqual({ state: 'ended' });
  });

  test('a signal ends the wait before the next attempt, and a request without a response', async () => {
    for (const listener of [
      (_: unknown, response: ServerResponse) => void response.destroy(),
      () => undefined,
    ]) {
      const aborting = new AbortController();
      await using server = await serve((request, response) => {
        listener(request, response);
        setImmediate(() => aborting.abort());
      });
      const events = new EventStream(server.url, { signal: aborting.signal, firstDelay: 1e6 });
      expect(await numbers(events)).toEqual([]);
      expect(events.status).toEqual({ state: 'ended' });
    }
  });

  test('a signal that is already aborted sends no request', async () => {
    await using server = await serve((_, response) => response.destroy());
    const events = new EventStream(server.url, { signal: AbortSignal.abort() });
    expect(await numbers(events)).toEqual([]);
    expect(server.requests).toEqual([]);
  });
});

describe('the delay between attempts', () => {
  /** Return the delays of a stream whose connections all fail, without waiting for them. */
  async function delaysOf(options: StreamOptions, listener: Parameters<typeof serve>[0]) {
    await using server = await serve(listener);
    const delays: number[] = [];
    const events: EventStream = new EventStream(server.url, {
      maxFailures: 6,
      random: () => 1,
      ...options,
      onStatus: (status) => {
        if (status.state !== 'waiting') return;
        delays.push(status.delay);
        setImmediate(() => events.reconnect());
      },
    });
    await numbers(events);
    return delays;
  }

  test('doubles up to the maximum', async () => {
    const delays = await delaysOf({ firstDelay: 1000, maxDelay: 6000 }, (_, response) =>
      response.destroy(),
    );
    expect(delays).toEqual([1000, 2000, 4000, 6000, 6000, 6000]);
  });

  test('has jitter, so that clients do not reconnect all at once', async () => {
    const delays = await delaysOf(
      { firstDelay: 1000, maxDelay: 1000, maxFailures: 1, random: () => 0 },
      (_, response) => response.destroy(),
    );
    expect(delays).toEqual([500]);
  });

  test('follows the server', async () => {
    expect(
      await delaysOf({ maxFailures: 1 }, (_, response) =>
        stream(response).write('retry: 4000\n\n', () => response.destroy()),
      ),
    ).toEqual([4000]);
    expect(
      await delaysOf({ maxFailures: 1 }, (_, response) =>
        response.writeHead(503, { 'retry-after': '7' }).end(),
      ),
    ).toEqual([7000]);
  });

  test('starts again from the minimum after an event', async () => {
    let connection = 0;
    const delays = await delaysOf({ firstDelay: 1000, maxFailures: 2 }, (_, response) => {
      connection += 1;
      if (connection === 3) stream(response).write(frame(1), () => response.destroy());
      else response.destroy();
    });
    expect(delays).toEqual([1000, 2000, 1000, 2000]);
  });

  test('also grows for a server that closes every connection without an event', async () => {
    const delays = await delaysOf({ firstDelay: 1000, maxFailures: 3 }, (_, response) =>
      stream(response).end(': hello\n\n'),
    );
    expect(delays).toEqual([2000, 4000]);
  });
});

describe('the events received', () => {
  test('begin after the requested number', async () => {
    await using server = await serve((request, response) => {
      if (cursorOf(request) < 5) stream(response).end(frames(cursorOf(request) + 1, 5));
      else response.writeHead(204).end();
    });
    expect(await numbers(new EventStream(server.url, { after: 3 }))).toEqual([4, 5]);
  });

  test('are requested again after a gap, which is accepted if the server does not have them', async () => {
    let lost = true;
    await using server = await serve((request, response) => {
      const cursor = cursorOf(request);
      if (cursor >= 6) response.writeHead(204).end();
      else if (cursor === 0) stream(response).end(frame(1) + frame(3));
      else if (cursor === 1 && lost) {
        lost = false;
        stream(response).end(frames(2, 3) + frame(6));
      } else stream(response).end(frame(6));
    });
    expect(await numbers(new EventStream(server.url, QUICK))).toEqual([1, 2, 3, 6]);
    expect(server.requests.map(cursorOf)).toEqual([0, 1, 3, 6]);
  });

  test.for(['{"kind":', '7', '{"kind": "text", "sequenceNumber": 1}'])(
    'are requested again if one is invalid: %s',
    async (data) => {
      let first = true;
      await using server = await serve((request, response) => {
        if (cursorOf(request) >= 2) response.writeHead(204).end();
        else if (first) stream(response).end(`id: 1\ndata: ${data}\n\n${frame(2)}`);
        else stream(response).end(frames(1, 2));
        first = false;
      });
      expect(await numbers(new EventStream(server.url, QUICK))).toEqual([1, 2]);
    },
  );

  test('exclude those without a number or of another type', async () => {
    await using server = await serve((request, response) => {
      if (cursorOf(request) > 0) response.writeHead(204).end();
      else {
        stream(response).end(
          'data: {"kind":"raw","delta":"draft"}\n\nevent: x\ndata: 1\n\n' + frame(1),
        );
      }
    });
    expect(await numbers(new EventStream(server.url))).toEqual([1]);
  });

  test('are requested with the given headers every time', async () => {
    await using server = await serve((request, response) => {
      if (cursorOf(request) > 0) response.writeHead(204).end();
      else stream(response).end(frame(1));
    });
    await numbers(new EventStream(server.url, { headers: { authorization: 'Bearer x' } }));
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer x',
      'Bearer x',
    ]);
  });

  test('may be large', async () => {
    const text = '<script>😀'.repeat(500_000);
    await using server = await serve((request, response) => {
      if (cursorOf(request) > 0) response.writeHead(204).end();
      else stream(response).end(frame(1, text));
    });
    for await (const event of new EventStream(server.url)) {
      expect(event).toMatchObject({ delta: text });
    }
  });
});

describe('silence', () => {
  /** Return a `fetch` that reports when a chunk of a body has been read. */
  function tapped(): { fetch: typeof fetch; read: () => Promise<void> } {
    let seen = Promise.withResolvers<undefined>();
    return {
      read: async () => {
        await seen.promise;
        seen = Promise.withResolvers();
      },
      fetch: async (...args) => {
        const response = await fetch(...args);
        const tap = new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk, out) => {
            out.enqueue(chunk);
            // The reader has received it once the pending callbacks have run.
            setImmediate(() => seen.resolve(undefined));
          },
        });
        return new Response(response.body?.pipeThrough(tap) ?? null, response);
      },
    };
  }

  test('leads to a new connection, and heartbeats are not silence', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const opened: ServerResponse[] = [];
    await using server = await serve((_, response) => opened.push(stream(response)));
    const { fetch: request, read } = tapped();
    const { states, onStatus, next } = recorder();
    const live = next('live');
    const options = { ...QUICK, silence: 45_000, fetch: request, onStatus };
    const events = new EventStream(server.url, options);
    const all = numbers(events);
    await live;
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(30_000);
      opened[0]?.write(': ping\n\n');
      await read();
    }
    expect(states).toEqual([{ state: 'live' }]);

    const again = next('waiting');
    vi.advanceTimersByTime(45_000);
    expect(await again).toMatchObject({ error: { code: 'timeout' } });
    const back = next('live');
    vi.advanceTimersByTime(0);
    await back;
    expect(opened.length).toBe(2);
    events.stop();
    expect(await all).toEqual([]);
  });

  test('that is overdue ends at once when a reconnection is requested', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    await using server = await serve((_, response) => stream(response));
    const { states, onStatus, next } = recorder();
    const live = next('live');
    const events = new EventStream(server.url, { ...QUICK, onStatus });
    const all = numbers(events);
    await live;
    vi.setSystemTime(Date.now() + 10_000);
    events.reconnect();
    expect(events.status).toEqual({ state: 'live' });
    // As after a suspend, during which timers stop while the clock continues.
    vi.setSystemTime(Date.now() + 20_000);
    const [lost, back] = [next('waiting'), next('connecting')];
    events.reconnect();
    expect(await lost).toMatchObject({ error: { code: 'timeout' } });
    vi.advanceTimersByTime(0);
    await back;
    events.stop();
    await all;
    expect(states.map(({ state }) => state)).toEqual(['live', 'waiting', 'connecting', 'ended']);
  });

  test('includes a request without a response', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using server = await serve(() => undefined);
    const { onStatus, next } = recorder();
    const lost = next('waiting');
    const events = new EventStream(server.url, { onStatus });
    const all = numbers(events);
    vi.advanceTimersByTime(45_000);
    expect(await lost).toMatchObject({ error: { code: 'timeout' } });
    events.stop();
    await all;
  });

  test('excludes a slow reader', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using server = await serve((_, response) => stream(response).write(frames(1, 3)));
    const { states, onStatus } = recorder();
    const events = new EventStream(server.url, { onStatus });
    for await (const event of events) {
      vi.advanceTimersByTime(600_000);
      if (event.sequenceNumber === 3) break;
    }
    expect(states).toEqual([{ state: 'live' }, { state: 'ended' }]);
    expect(server.requests.length).toBe(1);
  });
});

test('a finished connection is closed on the server as well', async () => {
  await using server = await serve((request, response) => {
    if (cursorOf(request) > 0) response.writeHead(204).end();
    else stream(response).end(frame(1));
  });
  await numbers(new EventStream(server.url));
  const [request] = server.requests;
  if (request && !request.destroyed) await once(request, 'close');
});

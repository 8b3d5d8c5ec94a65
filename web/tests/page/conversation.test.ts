import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { render, screen } from '@testing-library/svelte';
import { describe, expect, test } from 'vitest';
import { StreamReducer, type Snapshot, type StreamEvent } from '../../src/client/index.ts';
import { announcements } from '../../src/page/chat/announcements.ts';
import { itemsOf, keyOf, turnsOf } from '../../src/page/messages/items.ts';
import MessageView from '../../src/page/messages/MessageView.svelte';
import { registerMessage } from '../../src/page/messages/registry.ts';
import Panel from '../../src/page/panel/Panel.svelte';
import { timelinesOf, sumOf } from '../../src/page/panel/timeline.ts';
import './browser.ts';
import ChartMessage from './ChartMessage.svelte';

interface Case {
  name: string;
  events: StreamEvent[];
  snapshot: Snapshot;
}

const folder = join(import.meta.dirname, '../../../tests/cases/lifecycle');
const cases = readdirSync(folder)
  .filter((name) => name !== 'invalid.json')
  .flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Case[]);

describe('every shared case of the reducer can be shown', () => {
  test.for(cases)('$name', ({ snapshot }) => {
    const items = itemsOf(snapshot);
    expect(new Set(items.map(keyOf)).size).toBe(items.length);
    for (const message of items) {
      const { container } = render(MessageView, { message });
      expect(container.textContent.trim()).not.toBe('');
      for (const call of message.toolCalls ?? []) {
        expect(container.textContent).toContain(call.name);
        if (call.result !== undefined) expect(container.textContent).toContain(call.result);
      }
    }
    for (const tab of ['timeline', 'selection', 'raw']) render(Panel, { snapshot, tab });
  });
});

let number = 0;

/** Return a snapshot of a run with these events, numbered in order. */
function snapshotOf(...events: Partial<StreamEvent>[]): Snapshot {
  const reducer = new StreamReducer();
  number = 0;
  for (const event of events) {
    number += 1;
    const { kind = 'text' } = event;
    reducer.push({
      chatId: 'c',
      runId: 'r',
      generationId: 'g',
      messageId: `g.${kind}`,
      sequenceNumber: number,
      timestampUtc: 1_790_000_000_000 + number * 100,
      ...event,
      kind,
    });
  }
  return reducer.snapshot();
}

const started = { kind: 'run', status: 'started' } as const;
const question = { kind: 'text', messageId: 'u', role: 'user', delta: 'Hi', done: true } as const;
const call = {
  kind: 'tools_call',
  messageId: 'g.calls',
  toolCalls: [{ toolCallId: 'a', name: 'add', arguments: {}, index: 0 }],
} as const;
const running = {
  kind: 'tool_state',
  messageId: 'g.calls',
  toolCallId: 'a',
  state: 'running',
} as const;
const result = {
  kind: 'tool_result',
  messageId: 'g.calls_result_a',
  toolCallId: 'a',
  result: '3',
  isError: false,
  done: true,
} as const;

describe('the order of a conversation', () => {
  test('scenes and selections appear where they happened', () => {
    const snapshot = snapshotOf(
      question,
      started,
      { kind: 'selection', tool: 'add', fallback: false, calls: 1, duration: 0, ranking: [] },
      { kind: 'scene', step: { status: 'ExecutingScene', scene: 'Sums' } },
      { kind: 'text', delta: 'So.', done: true },
      { kind: 'scene', step: { status: 'Streaming', message: 'So.' } },
      { kind: 'run', status: 'finished', stopReason: 'cancelled' },
    );
    expect(itemsOf(snapshot).map((item) => item.kind)).toEqual([
      'text',
      'selection',
      'scene',
      'text',
      'run',
    ]);
    expect(turnsOf(itemsOf(snapshot)).map((turn) => [turn.role, turn.items.length])).toEqual([
      ['user', 1],
      ['assistant', 4],
    ]);
  });

  test('a reply is shown in the order of writing, whatever the order of its results', () => {
    const text = (id: string, delta: string) =>
      ({ kind: 'text', messageId: id, generationId: 'g', delta, done: true }) as const;
    const second = {
      kind: 'tools_call',
      messageId: 'g.calls2',
      generationId: 'g',
      toolCalls: [{ toolCallId: 'b', name: 'add', arguments: {}, index: 1 }],
    } as const;
    const late = { ...result, toolCallId: 'b', messageId: 'g.calls2_result_b' };
    const snapshot = snapshotOf(
      question,
      started,
      text('g.0', 'So: '),
      call,
      text('g.1', 'and '),
      second,
      text('g.2', 'there.'),
      late,
      result,
    );
    expect(itemsOf(snapshot).map((item) => item.messageId)).toEqual([
      'u',
      'g.0',
      'g.calls',
      'g.1',
      'g.calls2',
      'g.2',
    ]);
    expect(turnsOf(itemsOf(snapshot)).map((turn) => turn.items.length)).toEqual([1, 5]);
    expect(snapshot.problems).toEqual([]);
  });

  test('a run waits for deferred results until they arrive', () => {
    const deferred = { ...running, state: 'deferred', key: 'k' } as const;
    const ended = { kind: 'run', status: 'finished', stopReason: 'deferred' } as const;
    const kinds = (...events: Partial<StreamEvent>[]) =>
      itemsOf(snapshotOf(started, call, deferred, ended, ...events)).map((item) => item.kind);
    expect(kinds()).toEqual(['tools_call', 'run']);
    expect(kinds(result)).toEqual(['tools_call']);
  });

  test('the end of a completed run is not shown', () => {
    const snapshot = snapshotOf(question, started, {
      kind: 'run',
      status: 'finished',
      stopReason: 'completed',
    });
    expect(itemsOf(snapshot).map((item) => item.kind)).toEqual(['text']);
  });
});

describe('the calls of a reply', () => {
  const two = {
    kind: 'tools_call',
    messageId: 'g.calls',
    toolCalls: [
      { toolCallId: 'a', name: 'add', arguments: {}, index: 0 },
      { toolCallId: 'b', name: 'sub', arguments: {}, index: 1 },
    ],
  } as const;

  function show(snapshot: Snapshot): string {
    const message = itemsOf(snapshot).at(-1);
    if (message === undefined) throw new Error('there is no message');
    const { container } = render(MessageView, { message });
    return container.textContent.replaceAll(/\s+/g, ' ');
  }

  test('are counted as their results arrive', () => {
    expect(show(snapshotOf(started, two))).toContain('0 of 2 calls answered');
    const late = { ...result, toolCallId: 'b', messageId: 'g.calls_result_b', result: 'second' };
    expect(show(snapshotOf(started, two, late))).toContain('1 of 2 calls answered');
    expect(show(snapshotOf(started, two, late, result))).toContain('2 of 2 calls answered');
  });

  test('keep their order, whichever result arrives first', () => {
    const late = { ...result, toolCallId: 'b', messageId: 'g.calls_result_b', result: 'second' };
    const text = show(snapshotOf(started, two, late, { ...result, result: 'first' }));
    expect(text.indexOf('first')).toBeLessThan(text.indexOf('second'));
  });
});

test('an application can register its own kind', () => {
  const message = {
    messageId: 'm',
    kind: 'chart',
    role: 'assistant',
    sequenceNumber: 1,
    done: true,
    unknown: { points: [1, 2] },
  } as const;
  const before = render(MessageView, { message: { ...message } });
  expect(before.container.textContent).toContain('Message of unknown kind');
  before.unmount();
  registerMessage('chart', ChartMessage);
  render(MessageView, { message: { ...message } });
  expect(screen.getByText('a chart of 2 points')).toBeTruthy();
});

describe('announcements', () => {
  test('include states of calls and complete texts, but no tokens', () => {
    const steps = [
      snapshotOf(question),
      snapshotOf(question, started),
      snapshotOf(question, started, { delta: 'Let ' }),
      snapshotOf(question, started, { delta: 'Let ' }, { delta: 'me.', done: true }, call),
      snapshotOf(question, started, { delta: 'Let ' }, { delta: 'me.', done: true }, call, running),
      snapshotOf(question, started, { delta: 'Let me.', done: true }, call, call, running, result),
    ];
    const announced = steps
      .slice(1)
      .map((after, index) => announcements(steps[index] ?? after, after));
    expect(announced).toEqual([
      ['The assistant is working.'],
      [],
      ['Let me.'],
      ['add: running.'],
      ['add: success.'],
    ]);
  });

  test('include requests for approval and the ends of runs', () => {
    const before = snapshotOf(started, call);
    const asked = { ...running, state: 'awaiting_approval', key: 'k' } as const;
    expect(announcements(before, snapshotOf(started, call, asked))).toEqual([
      'add: awaiting approval.',
    ]);
    const ended = { kind: 'run', status: 'finished', stopReason: 'completed' } as const;
    expect(announcements(before, snapshotOf(started, call, ended))).toContain('Reply finished.');
  });

  test('include only the beginning of a long text', () => {
    const long = snapshotOf({ delta: 'word '.repeat(1000), done: true });
    expect(announcements(snapshotOf(), long).join('').length).toBeLessThan(500);
  });
});

describe('the timeline', () => {
  test('has a bar for each call, and the tokens and cost of a run', () => {
    const [line] = timelinesOf(
      snapshotOf(
        started,
        call,
        running,
        { ...result, duration: 0.08 },
        { kind: 'usage', inputTokens: 10, outputTokens: 2, cachedInputTokens: 0, cost: 0.1 },
        { kind: 'usage', messageId: 'h.usage', inputTokens: 5, outputTokens: 1, cost: 0.2 },
      ),
    );
    expect(line?.lanes).toEqual([
      {
        key: 'g.calls/a',
        name: 'add',
        state: 'success',
        from: 1_790_000_000_300,
        to: 1_790_000_000_400,
        seconds: 0.08,
      },
    ]);
    expect(line).toMatchObject({ inputTokens: 15, outputTokens: 3, cost: '0.3' });
  });

  test('shows steps of scenes with their cost, and takes their total', () => {
    const [line] = timelinesOf(
      snapshotOf(
        started,
        {
          kind: 'scene',
          step: { status: 'ExecutingScene', scene: 'Sums', cost: '0.001', totalCost: '0.001' },
        },
        { kind: 'scene', step: { status: 'Streaming', message: 'x', totalCost: '0.001' } },
        { kind: 'scene', step: { status: 'Completed', cost: '0.002', totalCost: '0.003' } },
      ),
    );
    expect(line?.marks.map(({ status, cost }) => [status, cost])).toEqual([
      ['ExecutingScene', '0.001'],
      ['Completed', '0.002'],
    ]);
    expect(line?.cost).toBe('0.003');
  });

  test('adds decimals exactly', () => {
    expect(sumOf(['0.1', '0.2'])).toBe('0.3');
    expect(sumOf(['1', '-0.000000000001'])).toBe('0.999999999999');
    expect(sumOf(['-2', '1.5'])).toBe('-0.5');
    expect(sumOf([])).toBe('0');
  });
});

describe('raw text', () => {
  const raw = { kind: 'raw', generationId: 'g', delta: '<add>{}' } as const;

  test('has a tab if the server sends it', () => {
    render(Panel, { snapshot: snapshotOf(started, raw), tab: 'raw' });
    expect(screen.getByRole('tabpanel', { name: 'Raw text' }).textContent).toContain('<add>{}');
  });

  test('has no tab otherwise', () => {
    render(Panel, { snapshot: snapshotOf(started, call, result), tab: 'raw' });
    expect(screen.queryByRole('tab', { name: 'Raw text' })).toBeNull();
    expect(screen.getByRole('tabpanel', { name: 'Timeline' })).toBeTruthy();
  });
});

import { render, screen } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { describe, expect, test } from 'vitest';
import MessageView from '../../src/page/messages/MessageView.svelte';
import LongText from '../../src/page/text/LongText.svelte';
import type { SnapshotMessage } from '../../src/page/types.ts';
import './browser.ts';

const markup =
  '</pre></div><script>globalThis.pwned = 1</script><img src=x onerror="globalThis.pwned = 1">' +
  '<style>*{display:none}</style><b>bold</b> &lt;i&gt; [x](javascript:alert(1))';

function message(fields: Partial<SnapshotMessage>): SnapshotMessage {
  return {
    messageId: 'm',
    kind: 'text',
    role: 'assistant',
    sequenceNumber: 1,
    done: true,
    ...fields,
  };
}

const call = {
  toolCallId: markup,
  name: markup,
  index: 0,
  argumentsText: JSON.stringify({ [markup]: markup }),
  state: 'error' as const,
  progress: [markup],
  result: markup,
  isError: true,
  errorCode: markup,
  reason: markup,
  invalid: { reason: markup, message: markup },
  repairs: [{ path: markup, kind: markup, before: markup, after: markup }],
};

describe('markup is text', () => {
  test.each<[string, Partial<SnapshotMessage>]>([
    ['a text', { text: markup, fromAgent: markup }],
    ['a message of the user', { text: markup, role: 'user' }],
    ['thoughts', { kind: 'reasoning', text: markup }],
    ['a call', { kind: 'tools_call', toolCalls: [call] }],
    ['an error', { kind: 'error', message: markup, code: markup }],
    ['the end of a run', { kind: 'run', unknown: { stopReason: markup, error: markup } }],
    [
      'a scene',
      { kind: 'scene', unknown: { step: { status: markup, scene: markup, error: markup } } },
    ],
    [
      'a selection',
      { kind: 'selection', unknown: { tool: markup, ranking: [{ tool: markup, error: markup }] } },
    ],
    [
      'a result without a call',
      { kind: 'tool_result', toolCallId: markup, unknown: { result: markup } },
    ],
    ['an unknown kind', { kind: markup, unknown: { [markup]: markup } }],
  ])('in %s', (_, fields) => {
    const { container } = render(MessageView, { message: message(fields) });
    expect(container.querySelectorAll('script, img, style, b > b, i b')).toHaveLength(0);
    expect(container.querySelectorAll('a')).toHaveLength(0);
    expect(container.textContent).toContain('<script>');
    expect((globalThis as { pwned?: unknown }).pwned).toBeUndefined();
  });
});

describe('malformed messages', () => {
  test.each<[string, Partial<SnapshotMessage>]>([
    ['a scene without a step', { kind: 'scene', unknown: { step: 7 } }],
    ['a selection without a ranking', { kind: 'selection', unknown: { ranking: 'none' } }],
    [
      'a selection with invalid fields',
      { kind: 'selection', unknown: { tool: 1, ranking: [null, 3, { score: 'x' }] } },
    ],
    ['a message without calls', { kind: 'tools_call' }],
    ['a text without a text', { kind: 'text' }],
    ['a kind called like a method', { kind: 'constructor' }],
    ['a status called like a method', { kind: 'scene', unknown: { step: { status: 'toString' } } }],
    ['an ending called like a method', { kind: 'run', unknown: { stopReason: 'valueOf' } }],
  ])('are harmless: %s', (_, fields) => {
    const { container } = render(MessageView, { message: message(fields) });
    expect(container.textContent).not.toContain('native code');
  });
});

describe('a text of 5 MB', () => {
  const line = `${'x'.repeat(63)}\n`;
  const big = line.repeat(5_000_000 / line.length);

  test('has only its beginning in the document', () => {
    const { container } = render(LongText, { text: big, name: 'big' });
    expect(container.textContent.length).toBeLessThan(2000);
    expect(screen.getByRole('button', { name: 'Show all (5.0 MB)' })).toBeTruthy();
  });

  test('is shown part by part', async () => {
    const { container } = render(LongText, { text: big, name: 'big' });
    await userEvent.click(screen.getByRole('button', { name: /Show all/ }));
    expect(container.textContent.length).toBeLessThan(50_000);
    expect(screen.getByRole('status').textContent).toBe('part 1 of 125');
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Previous' }).disabled).toBe(true);
    await userEvent.click(screen.getByRole('button', { name: 'Next' }));
    expect(screen.getByRole('status').textContent).toBe('part 2 of 125');
    await userEvent.click(screen.getByRole('button', { name: 'Show less' }));
    expect(container.textContent.length).toBeLessThan(2000);
  });

  test('is treated the same without line breaks', () => {
    const { container } = render(LongText, { text: 'a'.repeat(5_000_000), name: 'big' });
    expect(container.textContent.length).toBeLessThan(2000);
  });
});

test('deeply nested brackets are formatted only as far as they are shown', () => {
  const { container } = render(LongText, {
    text: '['.repeat(5000) + ']'.repeat(5000),
    name: 'deep',
  });
  expect(container.textContent.length).toBeLessThan(2000);
});

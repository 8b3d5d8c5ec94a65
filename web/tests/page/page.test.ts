import { cleanup, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ChatApi } from '../../src/client/index.ts';
import Page from '../../src/page/Page.svelte';
import { resize } from './browser.ts';
import { type ChatServer, serveChats } from './chat-server.ts';

let server: ChatServer;

beforeEach(async () => {
  server = await serveChats();
  location.hash = '';
  resize(120);
});

afterEach(async () => {
  cleanup();
  await server.kill();
});

/** Open the page in a new tab. */
function open() {
  return render(Page, { api: new ChatApi({ base: server.url }) });
}

/** Open the page and send a message in a new chat. */
async function begin(text = 'Add 1 and 2') {
  const page = open();
  await userEvent.type(await screen.findByLabelText('Message'), `${text}{Enter}`);
  await screen.findByRole('region', { name: 'Conversation' });
  await waitFor(() => expect(server.log.get('chat-1')?.length).toBe(2));
  await screen.findByRole('button', { name: 'Stop' });
  return page;
}

const reply = { runId: 'run-1', generationId: 'g1', role: 'assistant' };
const ended = { kind: 'run', runId: 'run-1', status: 'finished', stopReason: 'completed' };
const write = (id: string, name: string, text: string) => ({
  ...reply,
  kind: 'tools_call_update',
  messageId: 'g1.calls',
  toolCallUpdates: [{ toolCallId: id, functionName: name, functionArgs: text }],
});
const state = (toolCallId: string, state: string, more = {}) => ({
  ...reply,
  kind: 'tool_state',
  messageId: 'g1.calls',
  toolCallId,
  state,
  ...more,
});
const calls = (...ids: string[]) => ({
  ...reply,
  kind: 'tools_call',
  messageId: 'g1.calls',
  toolCalls: ids.map((toolCallId, index) => ({ toolCallId, name: 'add', arguments: {}, index })),
});
const result = (toolCallId: string, result: string) => ({
  ...reply,
  kind: 'tool_result',
  messageId: `g1.calls_result_${toolCallId}`,
  toolCallId,
  result,
  isError: false,
  done: true,
});

const conversation = () => screen.getByRole('region', { name: 'Conversation' });

describe('a conversation', () => {
  test('can begin with a suggestion', async () => {
    open();
    await userEvent.click(await screen.findByRole('button', { name: /How is the weather/ }));
    await waitFor(() => expect(server.posted[0]?.text).toBe('How is the weather in Oslo?'));
    expect(location.hash).toBe('#chat-1');
    await screen.findByText('live');
    expect(within(conversation()).getAllByText('How is the weather in Oslo?')).toHaveLength(1);
  });

  test('shows calls being written, run and answered in any order', async () => {
    await begin();
    server.emit('chat-1', { ...reply, kind: 'text', messageId: 'g1.0', delta: 'Let me ' });
    await within(conversation()).findByText('Let me');
    server.emit('chat-1', write('a', 'add', '{"a": 1, "b'));
    const call = await screen.findByRole('article', { name: 'add' });
    expect(call.dataset.state).toBe('writing');
    expect(call.textContent).toContain('{"a": 1, "b');
    server.emit('chat-1', calls('a', 'b'), state('a', 'running'), state('b', 'running'));
    server.emit('chat-1', result('b', 'second'));
    await screen.findByText('1 of 2 calls answered');
    server.emit('chat-1', result('a', 'first'), ended);
    await screen.findByText('2 of 2 calls answered');
    const cards = screen.getAllByRole('article');
    expect(cards.map((card) => card.dataset.state)).toEqual(['success', 'success']);
    expect(cards[0]?.textContent).toContain('first');
    await screen.findByRole('button', { name: 'Send' });
  });

  test('is stopped with Escape', async () => {
    await begin();
    await userEvent.keyboard('{Escape}');
    await waitFor(() => expect(server.stopped).toEqual(['run-1']));
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Stopping' }).disabled).toBe(true);
    server.emit('chat-1', { ...ended, stopReason: 'cancelled' });
    await within(conversation()).findByText('Stopped.');
    await screen.findByRole('button', { name: 'Send' });
  });

  test('asks for approval before a call runs, and sends the answer', async () => {
    await begin();
    server.emit('chat-1', calls('a'), state('a', 'awaiting_approval', { key: 'k 1' }));
    await userEvent.click(await screen.findByRole('button', { name: 'Allow' }));
    await waitFor(() => expect(server.answers.get('k 1')).toEqual({ approved: true }));
    server.emit('chat-1', state('a', 'approved'));
    await screen.findByText('allowed');
    expect(screen.queryByRole('button', { name: 'Allow' })).toBeNull();
  });

  test('is announced to screen readers', async () => {
    await begin();
    server.emit('chat-1', calls('a'), state('a', 'awaiting_approval', { key: 'k' }));
    await waitFor(
      () =>
        expect(screen.getByTestId('announcer').textContent).toContain('add: awaiting approval.'),
      { timeout: 3000 },
    );
  });
});

test('an interrupted reply can be resumed', async () => {
  await begin();
  server.emit('chat-1', { ...ended, stopReason: 'interrupted' });
  await userEvent.click(await screen.findByRole('button', { name: 'Continue' }));
  await waitFor(() => expect(server.posted).toHaveLength(2));
  expect(server.posted[1]).toEqual({});
  await screen.findByRole('button', { name: 'Stop' });
  expect(screen.queryByRole('button', { name: 'Continue' })).toBeNull();
});

describe('an unsent message', () => {
  test('is kept, and sent again under the same id', async () => {
    const page = await begin();
    server.emit('chat-1', ended);
    await screen.findByRole('button', { name: 'Send' });
    server.rejections.push({
      status: 409,
      code: 'busy',
      message: 'another reply is being written',
    });
    await userEvent.type(screen.getByLabelText('Message'), 'And then?{Enter}');
    await screen.findByText('Not sent. Another reply is being written.');
    await userEvent.click(screen.getByRole('button', { name: 'Send again' }));
    await waitFor(() => expect(server.posted).toHaveLength(3));
    expect(server.posted[1]).toEqual(server.posted[2]);
    await waitFor(() => expect(page.container.textContent).not.toContain('Not sent'));
    expect(within(conversation()).getAllByText('And then?')).toHaveLength(1);
  });

  test('is kept while the server is unreachable', async () => {
    await begin();
    server.emit('chat-1', ended);
    await screen.findByRole('button', { name: 'Send' });
    await server.kill();
    await userEvent.type(screen.getByLabelText('Message'), 'Hello?{Enter}');
    await screen.findByText('Not sent. The server cannot be reached.');
  });
});

describe('nothing is lost', () => {
  test('when the page is loaded again in the middle of a run', async () => {
    const page = await begin();
    server.emit('chat-1', calls('a', 'b'), result('b', 'second'));
    await screen.findByText('1 of 2 calls answered');
    page.unmount();
    server.emit('chat-1', result('a', 'first'));
    open();
    await screen.findByText('2 of 2 calls answered');
    expect(within(conversation()).getByText('Add 1 and 2')).toBeTruthy();
    expect(await screen.findByRole('button', { name: 'Stop' })).toBeTruthy();
  });

  test('when the server is killed and comes back', async () => {
    await begin();
    server.emit('chat-1', calls('a', 'b'), result('b', 'second'));
    await screen.findByText('1 of 2 calls answered');
    await server.kill();
    await screen.findByText('reconnecting');
    server.emit('chat-1', result('a', 'first'), ended);
    await server.restart();
    await userEvent.click(screen.getByRole('button', { name: 'Try now' }));
    await screen.findByText('2 of 2 calls answered');
    await screen.findByText('live');
  });

  test('when two tabs have the same chat open', async () => {
    const one = await begin();
    const two = open();
    server.emit('chat-1', calls('a'), result('a', 'the answer'));
    for (const { container } of [one, two]) {
      await within(container).findByText('the answer');
    }
  });
});

test('a hidden tab closes its connection, and resumes when it is visible again', async () => {
  await begin();
  await screen.findByText('live');
  const streams = () => server.requests.filter((request) => request.url?.includes('/events'));
  const hide = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  document.dispatchEvent(new Event('visibilitychange'));
  await waitFor(() => expect(server.subscriberCount()).toBe(0), { timeout: 5000 });
  server.emit('chat-1', calls('a'), result('a', 'meanwhile'));
  expect(streams()).toHaveLength(1);
  hide.mockRestore();
  document.dispatchEvent(new Event('visibilitychange'));
  await screen.findByText('meanwhile');
  expect(streams()).toHaveLength(2);
});

describe('the front page', () => {
  test('has the texts and links of its settings, as text', async () => {
    open();
    await screen.findByRole('heading', { name: 'Ask the loom' });
    screen.getByText('It knows patterns.');
    screen.getByText('It knows <b>yarns</b>.');
    screen.getByPlaceholderText('Ask about weaving');
    expect(screen.getByRole('link', { name: 'Help' }).getAttribute('href')).toBe('/help');
  });
});

describe('chats', () => {
  test('are listed, titled with their first message, and opened', async () => {
    await begin('Where   is\nmy train');
    await userEvent.click(screen.getByRole('link', { name: 'New chat' }));
    await screen.findByRole('heading', { name: 'Ask the loom' });
    const list = screen.getByRole('navigation', { name: 'Chats' });
    await userEvent.click(await within(list).findByRole('link', { name: /^Where is/ }));
    await within(await screen.findByRole('region', { name: 'Conversation' })).findByText(
      /my train/,
    );
    expect(document.title).toBe('Where is my train · Loom');
  });

  test('created elsewhere have the title that the server gives them', async () => {
    server.emit('chat-of-the-api', { kind: 'run', runId: 'r', status: 'started' });
    open();
    const list = await screen.findByRole('navigation', { name: 'Chats' });
    await within(list).findByRole('link', { name: /^Created through the API/ });
  });

  test('are deleted after confirmation', async () => {
    await begin();
    await userEvent.click(await screen.findByRole('button', { name: 'Delete Add 1 and 2' }));
    const dialog = screen.getByRole('dialog', { name: 'Delete this chat?' });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Delete' }));
    await waitFor(() => expect(server.log.size).toBe(0));
    await screen.findByText('No chats yet.');
    expect(location.hash).toBe('');
  });

  test('can be exported', async () => {
    await begin();
    const link = await screen.findByRole('link', { name: 'Export Add 1 and 2' });
    expect(link.getAttribute('href')).toBe(`${server.url}/chats/chat-1/export`);
  });

  test('that do not exist are reported as missing', async () => {
    location.hash = '#nowhere';
    open();
    await screen.findByText('Chat not found');
  });
});

test('a narrow window shows the chats and the panel in drawers', async () => {
  resize(40);
  await begin();
  expect(screen.queryByRole('navigation', { name: 'Chats' })).toBeNull();
  await userEvent.click(screen.getByRole('button', { name: 'Chats' }));
  const drawer = screen.getByRole('dialog', { name: 'Chats' });
  expect(within(drawer).getByRole('link', { name: /^Add 1 and 2/ })).toBeTruthy();
  await userEvent.click(within(drawer).getByRole('button', { name: 'Close' }));
  await userEvent.click(screen.getByRole('button', { name: 'Timeline, selection, raw text' }));
  const panel = screen.getByRole('dialog', { name: 'Run details' });
  const tab = within(panel).getByRole('tab', { name: 'Timeline' });
  tab.focus();
  await userEvent.keyboard('{ArrowRight}');
  expect(within(panel).getByRole('tab', { name: 'Selection', selected: true })).toBe(
    document.activeElement,
  );
});

test('the theme cycles through system, light and dark', async () => {
  open();
  const button = screen.getByRole('button', { name: 'Theme: system' });
  await userEvent.click(button);
  expect(document.documentElement.dataset.theme).toBe('light');
  await userEvent.click(button);
  expect(document.documentElement.dataset.theme).toBe('dark');
  await userEvent.click(button);
  expect(document.documentElement.dataset.theme).toBeUndefined();
});

// Runs one version of a client against a server.
//
// From standard input: {"protocol", "version", "base", "chatId", "flow"}. To standard output: the
// state of the client after each action of its user.

import { json } from "node:stream/consumers";

import * as agUi from "./ag_ui.mjs";
import * as aiSdk from "./ai_sdk.mjs";

const { protocol, version, base, chatId, flow } = await json(process.stdin);

async function post(path, body = {}) {
  const response = await fetch(`${base}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

// The chat class behind `useChat`.

const tools = (messages) =>
  messages.flatMap(({ parts }) => parts).filter(({ type }) => type === "dynamic-tool");
const states = (messages) =>
  messages.flatMap(({ parts }) => parts).filter(({ type }) => type === "data-tool-state");

async function openChat({ messages, ...options } = {}) {
  const transport = {
    // `useChat` derives the URL of the stream to resume from this one.
    api: `${base}/ai-sdk/chat`,
    ...options,
  };
  return await aiSdk.openChat(version, { id: chatId, messages, transport });
}

// As in docs/explanation/clients.md.
const sparing = {
  headers: { "x-ai-sdk-version": version },
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, messageId },
  }),
};

async function talk(chat) {
  const seen = [];
  for (const text of ["First.", "Second."]) {
    await chat.sendMessage({ text });
    seen.push(aiSdk.shown(chat));
  }
  return seen;
}

const chatFlows = {
  async talk() {
    return await talk(await openChat());
  },
  async "talk sparingly"() {
    return await talk(await openChat(sparing));
  },
  async idle() {
    const chat = await openChat();
    await chat.resumeStream();
    return [aiSdk.shown(chat)];
  },
  async resume() {
    const before = await openChat();
    const sent = before.sendMessage({ text: "Wait for it." });
    await before.when((messages) => tools(messages).some(({ input }) => input !== undefined));
    await before.stop();
    await sent;
    // After a reload the page has the user's message, and nothing of the reply.
    const after = await openChat({
      ...sparing,
      messages: before.messages.filter(({ role }) => role === "user"),
    });
    const resumed = after.resumeStream();
    await after.when((messages) => tools(messages).length > 0);
    await post("/release");
    await resumed;
    return [aiSdk.shown(before), aiSdk.shown(after)];
  },
  async approve() {
    const chat = await openChat(sparing);
    const sent = chat.sendMessage({ text: "Pay." });
    const asked = ({ data }) => data.state === "awaiting_approval" && data.key;
    const part = await chat.when((messages) => states(messages).find(asked));
    const asking = aiSdk.shown(chat);
    const answer = await post(`/chats/${chatId}/answers/${part.data.key}`, { approved: true });
    await sent;
    return [asking, aiSdk.shown(chat), answer];
  },
  async "come later"() {
    const chat = await openChat();
    await chat.sendMessage({ text: "Book it." });
    const waiting = aiSdk.shown(chat);
    const { key } = states(chat.messages)[0].data;
    const answer = await post(`/chats/${chatId}/answers/${key}`, { result: "booked" });
    // The answer makes the server continue in a new run, which may take a moment.
    const { id } = chat.messages.at(-1);
    const isNew = (messages) => messages.at(-1).id !== id;
    const released = chat.when(isNew).then(() => post("/release"));
    while (!isNew(chat.messages)) await chat.resumeStream();
    await released;
    return [waiting, answer, aiSdk.shown(chat)];
  },
  async stop() {
    const chat = await openChat();
    const sent = chat.sendMessage({ text: "Wait for it." });
    await chat.when((messages) => tools(messages).some(({ input }) => input !== undefined));
    // The id of the message is that of its run.
    const answer = await post(`/chats/${chatId}/runs/${chat.messages.at(-1).id}/stop`);
    await sent;
    return [aiSdk.shown(chat), answer];
  },
  async regenerate() {
    const chat = await openChat();
    await chat.sendMessage({ text: "First." });
    await chat.regenerate();
    return [aiSdk.shown(chat)];
  },
};

// The client that CopilotKit builds on.

async function openAgent(options = {}) {
  return await agUi.openAgent(version, { url: `${base}/ag-ui`, threadId: chatId, ...options });
}

// The protocol has no request to resume, so the events of the chat are read in its format.
const watching = {
  url: `${base}/chats/${chatId}/events?format=ag-ui`,
  fetch: (url, { headers, signal }) => fetch(url, { headers, signal }),
};

const say = (agent, content) => agent.addMessage({ id: crypto.randomUUID(), role: "user", content });

const agentFlows = {
  async talk() {
    const agent = await openAgent();
    const seen = [];
    for (const text of ["First.", "Second."]) {
      say(agent, text);
      seen.push(await agUi.run(agent));
    }
    return seen;
  },
  async "come later"() {
    const agent = await openAgent();
    say(agent, "Book it.");
    const waiting = await agUi.run(agent);
    const log = await (await fetch(`${base}/chats/${chatId}/events`)).text();
    const last = Math.max(...log.matchAll(/^id: *(\d+)$/gm).map(([, id]) => Number(id)));
    const { key } = waiting.custom.find(({ value }) => value.state === "deferred").value;
    const answer = await post(`/chats/${chatId}/answers/${key}`, { result: "booked" });
    // The answer makes the server continue in a new run, which may take a moment.
    let seen;
    do {
      const watcher = await openAgent({ ...watching, url: `${watching.url}&after=${last}` });
      watcher.subscribe({ onRunStartedEvent: () => void post("/release") });
      seen = await agUi.run(watcher);
    } while (seen.error);
    return [waiting, answer, seen];
  },
  async resume() {
    const before = await openAgent();
    say(before, "Wait for it.");
    const called = new Promise((resolve) => {
      before.subscribe({ onToolCallEndEvent: () => void resolve() });
    });
    const sent = agUi.run(before);
    await called;
    before.abortRun();
    const cut = await sent;
    const after = await openAgent({
      ...watching,
      initialMessages: before.messages.filter(({ role }) => role === "user"),
    });
    after.subscribe({ onToolCallEndEvent: () => void post("/release") });
    return [cut, await agUi.run(after)];
  },
  async approve() {
    const agent = await openAgent();
    say(agent, "Pay.");
    let answer;
    agent.subscribe({
      onCustomEvent: ({ event: { name, value } }) => {
        if (name === "tool-state" && value.state === "awaiting_approval" && value.key) {
          answer = post(`/chats/${chatId}/answers/${value.key}`, { approved: false });
        }
      },
    });
    return [await agUi.run(agent), await answer];
  },
};

const flows = { "ai-sdk": chatFlows, "ag-ui": agentFlows };
process.stdout.write(JSON.stringify(await flows[protocol][flow]()));

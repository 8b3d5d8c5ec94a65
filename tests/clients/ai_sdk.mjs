// The chat class behind `useChat`, without React: its transport, its stream parser and its messages.

const packages = { 5: "ai-5", 6: "ai-6", 7: "ai-7" };

export const versions = Object.keys(packages);

class State {
  status = "ready";
  error = undefined;
  #messages;
  #watchers = new Set();

  constructor(messages) {
    this.#messages = messages;
  }
  get messages() {
    return this.#messages;
  }
  set messages(messages) {
    this.#messages = messages;
    for (const look of this.#watchers) look();
  }
  /** Wait until a condition on the messages holds. */
  when(wanted) {
    return new Promise((resolve) => {
      const look = () => {
        const found = wanted(this.#messages);
        if (!found) return;
        this.#watchers.delete(look);
        resolve(found);
      };
      this.#watchers.add(look);
      look();
    });
  }
  pushMessage(message) {
    this.messages = [...this.messages, message];
  }
  popMessage() {
    this.messages = this.messages.slice(0, -1);
  }
  replaceMessage(index, message) {
    this.messages = this.messages.map((each, at) => (at === index ? message : each));
  }
  snapshot(thing) {
    return structuredClone(thing);
  }
}

/** Create a chat of a version; `transport` has options of its `DefaultChatTransport`. */
export async function openChat(version, { id, messages = [], transport, onData }) {
  const ai = await import(packages[version]);
  const state = new State(messages);
  class Chat extends ai.AbstractChat {
    when(wanted) {
      return state.when(wanted);
    }
  }
  return new Chat({
    id,
    state,
    transport: new ai.DefaultChatTransport(transport),
    onData,
    onError: () => {}, // it is kept in `chat.error`
  });
}

/** Return the state of a chat that a page shows. */
export function shown(chat) {
  return {
    status: chat.status,
    error: chat.error?.message ?? null,
    messages: structuredClone(chat.messages),
  };
}

/** Read a recorded stream as the reply to a question. */
export async function readRecorded(version, body) {
  const data = [];
  const chat = await openChat(version, {
    id: "recorded",
    transport: { api: "http://recorded/", fetch: async () => new Response(body) },
    onData: (part) => data.push(part),
  });
  await chat.sendMessage({ text: "Please." });
  return { ...shown(chat), data };
}

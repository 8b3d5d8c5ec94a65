// The client of Anthropic: messages one by one, and its runner of tools.

import Anthropic from "@anthropic-ai/sdk";
import { KEY, MODEL, openTask, PARAMETERS, QUESTION } from "./task.mjs";

async function messages(url, stream) {
  const { calls, tools } = openTask();
  const baseURL = url.replace(/\/v1$/, "");
  const client = new Anthropic({ baseURL, apiKey: KEY, maxRetries: 0 });
  const conversation = [{ role: "user", content: QUESTION }];
  for (let turn = 0; turn < 5; turn += 1) {
    const request = {
      model: MODEL,
      max_tokens: 100,
      messages: conversation,
      tools: tools.map(({ name, description }) => ({ name, description, input_schema: PARAMETERS })),
    };
    const message = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    const found = message.content.filter((block) => block.type === "tool_use");
    if (found.length === 0) {
      const texts = message.content.filter((block) => block.type === "text");
      return { text: texts.map((block) => block.text).join(""), calls };
    }
    const results = found.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: tools.find(({ name }) => name === call.name).run(call.input),
    }));
    conversation.push({ role: "assistant", content: message.content });
    conversation.push({ role: "user", content: results });
  }
  throw new Error("the loop did not end");
}

async function toolRunner(url, stream) {
  const { calls, tools } = openTask();
  const baseURL = url.replace(/\/v1$/, "");
  const client = new Anthropic({ baseURL, apiKey: KEY, maxRetries: 0 });
  const runner = client.beta.messages.toolRunner({
    model: MODEL,
    max_tokens: 100,
    messages: [{ role: "user", content: QUESTION }],
    tools: tools.map(({ run, ...tool }) => ({ ...tool, type: "custom", input_schema: PARAMETERS, run, parse: (input) => input })),
    max_iterations: 5,
    stream,
  });
  const message = await runner.runUntilDone();
  const texts = message.content.filter((block) => block.type === "text");
  return { text: texts.map((block) => block.text).join(""), calls };
}

export const clients = { "anthropic messages": messages, "anthropic toolRunner": toolRunner };

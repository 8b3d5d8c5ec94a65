// The AI SDK of Vercel, with its providers.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { KEY, MODEL, openTask, PARAMETERS, QUESTION } from "./task.mjs";

const run = (open) => async (url, stream) => {
  const { calls, tools } = openTask();
  const request = {
    model: open({ baseURL: url, apiKey: KEY }),
    prompt: QUESTION,
    maxRetries: 0,
    stopWhen: stepCountIs(5),
    // The items themselves, not references to those that a server has stored.
    providerOptions: { openai: { store: false } },
    tools: Object.fromEntries(
      tools.map(({ name, description, run: execute }) => [
        name,
        tool({ description, inputSchema: jsonSchema(PARAMETERS), execute }),
      ]),
    ),
  };
  if (!stream) return { text: (await generateText(request)).text, calls };
  let failure;
  const result = streamText({ ...request, onError: ({ error }) => (failure = error) });
  await result.consumeStream();
  if (failure) throw failure;
  return { text: await result.text, calls };
};

export const clients = {
  "ai-sdk openai chat": run((options) => createOpenAI(options).chat(MODEL)),
  "ai-sdk openai responses": run((options) => createOpenAI(options).responses(MODEL)),
  "ai-sdk openai-compatible": run((options) =>
    createOpenAICompatible({ ...options, name: "local" })(MODEL),
  ),
  "ai-sdk anthropic": run((options) => createAnthropic(options)(MODEL)),
};

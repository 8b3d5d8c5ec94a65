// Runs the task with one client: `{ client, url, stream }` on standard input, the outcome on standard output.

import { text } from "node:stream/consumers";
import * as aiSdk from "./ai_sdk.mjs";
import * as anthropic from "./anthropic.mjs";
import * as openai from "./openai.mjs";

const clients = { ...openai.clients, ...anthropic.clients, ...aiSdk.clients };
const { client, url, stream } = JSON.parse(await text(process.stdin));
console.log(JSON.stringify(await clients[client](url, stream)));

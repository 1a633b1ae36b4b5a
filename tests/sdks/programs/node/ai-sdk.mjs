import { embedMany, generateText, isStepCount, Output, streamText, tool } from "ai";
import { z } from "zod";
import * as gateway from "./gateway.mjs";
import { cityOf, execute, LANE, personOf, run, tools } from "./report.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const model = gateway[LANE];
const counted = ({ inputTokens: input, outputTokens: output }) => ({ input, output });

async function streamed(name, prompt, more = {}) {
  const result = streamText({ model: model(name), prompt, onError() {}, ...more });
  const pieces = [];
  let usage;
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") pieces.push(part.text);
    if (part.type === "finish-step") usage = part.usage;
  }
  return { text: pieces.join(""), pieces: pieces.length, ...counted(usage) };
}

const offered = Object.fromEntries(tools.map(({ name, description }) => [
  name,
  tool({ description, inputSchema: cityOf(z), execute: (args) => execute(name, args) }),
]));

run({
  async ask(name, prompt) {
    const { text, usage } = await generateText({ model: model(name), prompt });
    return { text, ...counted(usage) };
  },
  stream: streamed,
  tools: (name, prompt) => streamed(name, prompt, { tools: offered, stopWhen: isStepCount(5) }),
  async object(name, prompt) {
    const output = Output.object({ schema: personOf(z) });
    const result = await generateText({ model: model(name), prompt, output });
    return { text: "", object: result.output, ...counted(result.usage) };
  },
  embed: gateway.embeddings[LANE] && (async (name, text) => {
    const model = gateway.embeddings[LANE](name);
    const { embeddings, usage } = await embedMany({ model, values: [text, "a house"] });
    return { text: "", dimensions: embeddings[1].length, input: usage.tokens };
  }),
});

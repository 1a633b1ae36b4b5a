import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import * as gateway from "./gateway.mjs";
import { cityOf, execute, LANE, personOf, run, tools } from "./report.mjs";

const agent = (name, more = {}) =>
  new Agent({ id: "guide", name: "guide", instructions: "Be brief.", model: gateway[LANE](name), ...more });
const counted = ({ inputTokens: input, outputTokens: output }) => ({ input, output });

const offered = Object.fromEntries(tools.map(({ name: id, description }) => [
  id,
  createTool({ id, description, inputSchema: cityOf(z), execute: (args) => Promise.resolve(execute(id, args.context ?? args)) }),
]));

async function streamed(agent, text) {
  const stream = await agent.stream(text);
  const pieces = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === "error") throw chunk.payload.error;
    if (chunk.type === "text-delta") pieces.push(chunk.payload.text);
  }
  return { text: pieces.join(""), pieces: pieces.length, ...counted(await stream.usage) };
}

run({
  async ask(name, text) {
    const result = await agent(name).generate(text);
    if (result.error) throw result.error;
    return { text: result.text, ...counted(result.usage) };
  },
  stream: (name, text) => streamed(agent(name), text),
  tools: (name, text) => streamed(agent(name, { tools: offered }), text),
  async object(name, text) {
    const result = await agent(name).generate(text, { structuredOutput: { schema: personOf(z) } });
    if (result.error) throw result.error;
    return { text: "", object: result.object, ...counted(result.usage) };
  },
});

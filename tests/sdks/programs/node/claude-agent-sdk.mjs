import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { optionsFor } from "./gateway.mjs";
import { cityOf, execute, person, run, tools } from "./report.mjs";

const offered = tools.map(({ name, description }) =>
  tool(name, description, cityOf(z).shape, async (args) => ({
    content: [{ type: "text", text: execute(name, args) }],
  }))
);

async function asked(model, prompt, more = {}) {
  let pieces = 0;
  for await (const message of query({ prompt, options: { ...optionsFor(model), ...more } })) {
    if (message.type === "stream_event" && message.event.delta?.type === "text_delta") pieces++;
    if (message.type !== "result") continue;
    if (message.is_error) throw new Error(message.result ?? message.errors?.join(" "));
    return { text: message.result, pieces, object: message.structured_output };
  }
}

const alone = { tools: [] };

run({
  ask: (model, prompt) => asked(model, prompt, alone),
  stream: (model, prompt) => asked(model, prompt, { ...alone, includePartialMessages: true }),
  tools: (model, prompt) =>
    asked(model, prompt, {
      ...alone,
      mcpServers: { guide: createSdkMcpServer({ name: "guide", tools: offered }) },
      allowedTools: tools.map(({ name }) => `mcp__guide__${name}`),
    }),
  object: (model, prompt) =>
    asked(model, prompt, { ...alone, outputFormat: { type: "json_schema", schema: person } }),
});

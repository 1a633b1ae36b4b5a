import { FunctionTool, InMemoryRunner, LlmAgent, StreamingMode } from "@google/adk";
import { z } from "zod";
import { model } from "./gateway.mjs";
import { cityOf, execute, personOf, run, tools } from "./report.mjs";

const offered = tools.map(({ name, description }) =>
  new FunctionTool({ name, description, parameters: cityOf(z), execute: (args) => execute(name, args) })
);

async function asked(name, text, more = {}, runConfig = {}) {
  const agent = new LlmAgent({ name: "guide", model: model(name), ...more });
  const runner = new InMemoryRunner({ agent, appName: "guide" });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: "guide", userId: "u" });
  const newMessage = { role: "user", parts: [{ text }] };
  const found = { text: "", pieces: 0 };
  for await (const event of runner.runAsync({ userId: "u", sessionId, newMessage, runConfig })) {
    if (event.errorCode) throw Object.assign(new Error(event.errorMessage), { code: event.errorCode });
    const said = (event.content?.parts ?? []).map((part) => part.thought ? "" : part.text ?? "").join("");
    if (event.partial && said !== "") found.pieces++;
    if (!event.partial && said !== "") found.text = said;
    const usage = event.usageMetadata;
    if (usage) {
      found.input = usage.promptTokenCount;
      found.output = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0);
    }
  }
  return found;
}

const sse = { streamingMode: StreamingMode.SSE };

run({
  ask: (name, text) => asked(name, text),
  stream: (name, text) => asked(name, text, {}, sse),
  tools: (name, text) => asked(name, text, { tools: offered }, sse),
  async object(name, text) {
    const { text: said, ...found } = await asked(name, text, { outputSchema: personOf(z) });
    return { ...found, text: "", object: JSON.parse(said) };
  },
});

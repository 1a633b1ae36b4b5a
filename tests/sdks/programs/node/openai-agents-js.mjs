import { Agent, run as runAgent, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import * as gateway from "./gateway.mjs";
import { cityOf, execute, LANE, personOf, run, tools } from "./report.mjs";

setTracingDisabled(true);
const agent = (name, more = {}) => new Agent({ name: "guide", model: gateway[LANE](name), ...more });
const counted = (result) => {
  const { inputTokens: input, outputTokens: output } = result.state.usage;
  return { input, output };
};
const offered = tools.map(({ name, description }) =>
  tool({ name, description, parameters: cityOf(z), execute: (args) => execute(name, args) })
);

async function streamed(agent, text) {
  const result = await runAgent(agent, text, { stream: true });
  let pieces = 0;
  for await (const event of result) {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") pieces++;
  }
  await result.completed;
  if (result.error) throw result.error;
  return { text: result.finalOutput, pieces, ...counted(result) };
}

run({
  async ask(name, text) {
    const result = await runAgent(agent(name), text);
    return { text: result.finalOutput, ...counted(result) };
  },
  stream: (name, text) => streamed(agent(name), text),
  tools: (name, text) => streamed(agent(name, { tools: offered }), text),
  async object(name, text) {
    const result = await runAgent(agent(name, { outputType: personOf(z) }), text);
    return { text: "", object: result.finalOutput, ...counted(result) };
  },
});

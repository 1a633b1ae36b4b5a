import { agent, agentStreamEvent } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import { z } from "zod";
import * as gateway from "./gateway.mjs";
import { cityOf, execute, LANE, personOf, run, tools } from "./report.mjs";

const model = gateway[LANE];
const user = (content) => ({ messages: [{ role: "user", content }] });
const offered = tools.map(({ name, description }) =>
  tool({ name, description, parameters: cityOf(z), execute: (args) => execute(name, args) })
);

run({
  async ask(name, text) {
    const { message } = await model(name).chat(user(text));
    return { text: message.content };
  },
  async stream(name, text) {
    const pieces = [];
    for await (const { delta } of await model(name).chat({ ...user(text), stream: true })) {
      if (delta) pieces.push(delta);
    }
    return { text: pieces.join(""), pieces: pieces.length };
  },
  async tools(name, text) {
    let said = "";
    const events = agent({ llm: model(name), tools: offered }).runStream(text);
    for await (const event of events) {
      if (agentStreamEvent.include(event)) said += event.data.delta ?? "";
    }
    return { text: said };
  },
  async object(name, text) {
    const { message } = await model(name).chat({ ...user(text), responseFormat: personOf(z) });
    return { text: "", object: JSON.parse(message.content) };
  },
  embed: gateway.embeddings?.[LANE] && (async (name, text) => {
    const [, second] = await gateway.embeddings[LANE](name).getTextEmbeddings([text, "a house"]);
    return { text: "", dimensions: second.length };
  }),
});

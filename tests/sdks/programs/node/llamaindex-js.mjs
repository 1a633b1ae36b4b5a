import { tool } from "llamaindex";
import { z } from "zod";
import * as gateway from "./gateway.mjs";
import { cityOf, execute, LANE, personOf, run, tools } from "./report.mjs";

const model = gateway[LANE];
const textOf = (content) =>
  typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
const user = (content) => [{ role: "user", content }];
const offered = tools.map(({ name, description }) =>
  tool({ name, description, parameters: cityOf(z), execute: (args) => execute(name, args) })
);

run({
  async ask(name, text) {
    const { message } = await model(name).chat({ messages: user(text) });
    return { text: textOf(message.content) };
  },
  async stream(name, text) {
    let whole = "", pieces = 0;
    for await (const { delta } of await model(name).chat({ messages: user(text), stream: true })) {
      whole += delta;
      if (delta !== "") pieces++;
    }
    return { text: whole, pieces };
  },
  async tools(name, text) {
    const messages = user(text);
    while (true) {
      const { newMessages, toolCalls } = await model(name).exec({ messages, tools: offered });
      messages.push(...newMessages);
      if (toolCalls.length === 0) return { text: textOf(messages.at(-1).content) };
    }
  },
  object: LANE === "chat" && (async (name, text) => {
    const request = { messages: user(text), responseFormat: personOf(z) };
    const { message } = await model(name).chat(request);
    return { text: "", object: JSON.parse(message.content) };
  }),
  embed: gateway.embeddings[LANE] && (async (name, text) => {
    const [, second] = await gateway.embeddings[LANE](name).getTextEmbeddings([text, "a house"]);
    return { text: "", dimensions: second.length };
  }),
});

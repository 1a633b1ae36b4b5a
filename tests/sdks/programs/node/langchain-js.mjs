import { createAgent, tool } from "langchain";
import { z } from "zod";
import * as gateway from "./gateway.mjs";
import { cityOf, execute, LANE, personOf, run, tools } from "./report.mjs";

const model = gateway[LANE];
// Thoughts aren't in its counts of generate's output; see the page on those of messages' streams.
const counted = ({ usage_metadata: usage }, isStreamed = false) =>
  LANE === "messages" && isStreamed
    ? {}
    : { input: usage?.input_tokens, output: LANE === "generate" ? undefined : usage?.output_tokens };

const offered = tools.map(({ name, description }) =>
  tool((args) => execute(name, args), { name, description, schema: cityOf(z) })
);

run({
  async ask(name, text) {
    const message = await model(name).invoke(text);
    return { text: message.text, ...counted(message) };
  },
  async stream(name, text) {
    let whole, pieces = 0;
    for await (const chunk of await model(name).stream(text)) {
      whole = whole ? whole.concat(chunk) : chunk;
      if (chunk.text !== "") pieces++;
    }
    return { text: whole.text, pieces, ...counted(whole, true) };
  },
  async tools(name, text) {
    const agent = createAgent({ model: model(name), tools: offered });
    const messages = [{ role: "user", content: text }];
    let last;
    for await (const [mode, data] of await agent.stream({ messages }, { streamMode: ["messages", "values"] })) {
      if (mode === "values") last = data.messages.at(-1);
    }
    return { text: last.text, ...counted(last, true) };
  },
  async object(name, text) {
    const { parsed, raw } = await model(name)
      .withStructuredOutput(personOf(z), { includeRaw: true }).invoke(text);
    return { text: "", object: parsed, ...counted(raw) };
  },
  embed: gateway.embeddings?.[LANE] && (async (name, text) => {
    const [, second] = await gateway.embeddings[LANE](name).embedDocuments([text, "a house"]);
    return { text: "", dimensions: second.length };
  }),
});

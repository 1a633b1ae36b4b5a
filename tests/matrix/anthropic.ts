import Anthropic, { APIError } from "@anthropic-ai/sdk";
import {
  type Address,
  type Library,
  personSchema,
  type Told,
  toolDescription,
  toolNames,
  toolParameters,
  toolResult,
  type ToolTurns,
} from "./library.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

/** `@anthropic-ai/sdk`. */
export function anthropic({ url, key }: Address): Library {
  const client = new Anthropic({ baseURL: `${url}/chat`, apiKey: key, maxRetries: 0 });
  const params = (model: string, content: Anthropic.MessageParam["content"]): Params => ({
    model,
    max_tokens: 8000,
    messages: [{ role: "user", content }],
  });
  return {
    name: "@anthropic-ai/sdk",
    dialect: "messages",
    whole: async (model, prompt) => told(await client.messages.create(params(model, prompt))),
    stream: async (model, prompt) =>
      told(await client.messages.stream(params(model, prompt)).finalMessage()),
    tools: (model, question) => toolTurns(client, params(model, question)),
    reasoning: (model, question) =>
      toolTurns(client, {
        ...params(model, question),
        thinking: model.includes("haiku-5") || !model.includes("claude")
          ? { type: "adaptive", display: "summarized" }
          : { type: "enabled", budget_tokens: 2000 },
      }),
    image: async (model, prompt, png) =>
      told(
        await client.messages.create(params(model, [
          { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
          { type: "text", text: prompt },
        ])),
      ),
    schema: async (model, prompt) =>
      told(
        await client.messages.create({
          ...params(model, prompt),
          output_config: { format: { type: "json_schema", schema: personSchema } },
        }),
      ),
    explain(thrown) {
      if (!(thrown instanceof APIError)) return undefined;
      return { status: thrown.status, text: thrown.message };
    },
  };
}

async function toolTurns(client: Anthropic, params: Params): Promise<ToolTurns> {
  const tools: Anthropic.Tool[] = toolNames.map((name) => ({
    name,
    description: toolDescription(name),
    input_schema: toolParameters,
  }));
  const messages = [...params.messages];
  const turn = async () =>
    await client.messages.stream({ ...params, tools, messages }).finalMessage();
  const first = await turn();
  const calls = first.content.filter((block) => block.type === "tool_use");
  messages.push({ role: "assistant", content: first.content }, {
    role: "user",
    content: calls.map(({ id, name }) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: toolResult(name),
    })),
  });
  const last = await turn();
  return {
    calls: calls.map(({ id, name, input }) => ({ id, name, arguments: input })),
    endedWithCalls: first.stop_reason === "tool_use",
    last: told(last),
    thoughts: [...first.content, ...last.content]
      .map((block) => block.type === "thinking" ? block.thinking : "").join(""),
  };
}

function told({ content, stop_reason, usage }: Anthropic.Message): Told {
  return {
    text: content.map((block) => block.type === "text" ? block.text : "").join(""),
    ended: stop_reason === "end_turn",
    tokens: {
      input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) +
        (usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
    },
  };
}

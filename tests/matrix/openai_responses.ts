import OpenAI from "openai";
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseOutputItem,
} from "openai/resources/responses/responses";
import {
  type Address,
  FailedAnswer,
  type Library,
  personSchema,
  type Told,
  toolDescription,
  toolNames,
  toolParameters,
  toolResult,
  type ToolTurns,
} from "./library.ts";
import { explainOpenai } from "./openai_chat.ts";

type Params = Omit<ResponseCreateParamsNonStreaming, "stream">;

/** `openai`, responses. */
export function openaiResponses({ url, key }: Address): Library {
  const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
  const ask = async (params: Params) => told(await client.responses.create(params));
  return {
    name: "openai responses",
    dialect: "responses",
    whole: (model, prompt) => ask({ model, input: prompt }),
    stream: async (model, prompt) =>
      told(await client.responses.stream({ model, input: prompt }).finalResponse()),
    tools: (model, question) => toolTurns(client, { model, input: question }),
    reasoning: (model, question) =>
      toolTurns(client, {
        model,
        input: question,
        reasoning: { effort: "low", summary: "auto" },
        store: false,
        include: ["reasoning.encrypted_content"],
      }),
    image: (model, prompt, png) =>
      ask({
        model,
        input: [{
          role: "user",
          content: [
            { type: "input_text", text: prompt },
            {
              type: "input_image",
              image_url: `data:image/png;base64,${png}`,
              detail: "auto",
            },
          ],
        }],
      }),
    schema: (model, prompt) =>
      ask({
        model,
        input: prompt,
        text: {
          format: { type: "json_schema", name: "person", schema: personSchema, strict: true },
        },
      }),
    explain: (thrown) =>
      thrown instanceof FailedAnswer
        ? { status: undefined, text: thrown.message }
        : explainOpenai(thrown),
  };
}

/** The matrix's functions, as the responses dialect takes them. */
export function responsesFunctions() {
  return toolNames.map((name) => ({
    type: "function" as const,
    name,
    description: toolDescription(name),
    parameters: toolParameters,
    strict: true,
  }));
}

async function toolTurns(client: OpenAI, params: Params): Promise<ToolTurns> {
  const tools = responsesFunctions();
  const input: ResponseInputItem[] = [{ role: "user", content: String(params.input) }];
  const turn = async () =>
    await client.responses.stream({ ...params, tools, input }).finalResponse();
  const first = await turn();
  const calls = first.output.filter((item) => item.type === "function_call");
  input.push(
    ...first.output.map(plainItem),
    ...calls.map((call) => ({
      type: "function_call_output" as const,
      call_id: call.call_id,
      output: toolResult(call.name),
    })),
  );
  const last = await turn();
  return {
    calls: calls.map(({ call_id, name, arguments: text }) => ({
      id: call_id,
      name,
      arguments: JSON.parse(text),
    })),
    endedWithCalls: first.status === "completed" && calls.length > 0,
    last: told(last),
    thoughts: [...first.output, ...last.output].flatMap((item) =>
      item.type === "reasoning"
        ? [...item.summary, ...(item.content ?? [])].map(({ text }) => text)
        : []
    ).join(""),
  };
}

/** Without the fields that the library's stream helper adds, which no server takes back. */
function plainItem(item: ResponseOutputItem): ResponseInputItem {
  if (item.type !== "function_call") return item as ResponseInputItem;
  const { parsed_arguments: _, ...plain } = item as typeof item & { parsed_arguments?: unknown };
  return plain;
}

function told(response: Response): Told {
  // The library leaves it to its user to look at the status.
  if (response.status === "failed") throw new FailedAnswer(JSON.stringify(response.error));
  const { usage } = response;
  return {
    text: response.output_text,
    ended: response.status === "completed",
    tokens: usage && { input: usage.input_tokens, output: usage.output_tokens },
  };
}

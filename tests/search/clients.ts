/** The official client libraries asking with the vendor's web search, and what they make of it. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

/** A search answer as a library shows it. */
export interface Found {
  text: string;
  /** What a source is given for, where the dialect says it: undefined for the whole answer. */
  sources: { url: string; title: string; passage: string | undefined }[];
  queries: string[];
  /** Searches that the usage tells; undefined where the dialect tells none. */
  searches: number | undefined;
}

export interface Searcher {
  name: string;
  whole(model: string, question: string): Promise<Found>;
  stream(model: string, question: string): Promise<Found>;
}

interface Address {
  url: string;
  key: string;
}

/** In characters, as chat and responses count. */
function points(text: string, start: number, end: number): string | undefined {
  return end === 0 ? undefined : [...text].slice(start, end).join("");
}

export function chatSearcher({ url, key }: Address): Searcher {
  const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
  const body = (model: string, content: string) => ({
    model,
    messages: [{ role: "user" as const, content }],
    max_completion_tokens: 2000,
    // The aggregator's pass-through lane has its own form.
    ...(model.startsWith("vendor-f/")
      ? { tools: [{ type: "web_search" }] as unknown as OpenAI.ChatCompletionTool[] }
      : { web_search_options: {} }),
  });
  type Annotation = OpenAI.ChatCompletionMessage.Annotation;
  const found = (text: string, annotations: readonly Annotation[], usage: unknown): Found => ({
    text,
    sources: annotations.map(({ url_citation: cited }) => ({
      url: cited.url,
      title: cited.title,
      passage: points(text, cited.start_index, cited.end_index),
    })),
    queries: [],
    searches: (usage as { server_tool_use_details?: { web_search_requests: number } } | undefined)
      ?.server_tool_use_details?.web_search_requests,
  });
  return {
    name: "openai, chat",
    async whole(model, question) {
      const { choices, usage } = await client.chat.completions.create(body(model, question));
      const { content, annotations } = choices[0]!.message;
      return found(content ?? "", annotations ?? [], usage);
    },
    async stream(model, question) {
      const stream = await client.chat.completions.create({
        ...body(model, question),
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = "";
      let usage: unknown;
      const annotations: Annotation[] = [];
      for await (const chunk of stream) {
        const delta = chunk.choices[0]?.delta as
          | { content?: string | null; annotations?: Annotation[] }
          | undefined;
        text += delta?.content ?? "";
        annotations.push(...delta?.annotations ?? []);
        usage = chunk.usage ?? usage;
      }
      return found(text, annotations, usage);
    },
  };
}

export function responsesSearcher({ url, key }: Address): Searcher {
  const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
  const body = (model: string, input: string) => ({
    model,
    input,
    max_output_tokens: 2000,
    tools: [{ type: "web_search" as const }],
    include: ["web_search_call.action.sources" as const],
  });
  const found = (response: OpenAI.Responses.Response): Found => {
    const parts = response.output.flatMap((item) =>
      item.type === "message" ? item.content.filter((part) => part.type === "output_text") : []
    );
    const calls = response.output.filter((item) => item.type === "web_search_call");
    for (const { status } of calls) if (status !== "completed") throw new Error(status);
    const usage = response as unknown as { tool_usage?: { web_search: { num_requests: number } } };
    return {
      text: response.output_text,
      sources: parts.flatMap(({ text, annotations }) =>
        annotations.flatMap((one) =>
          one.type !== "url_citation" ? [] : [{
            url: one.url,
            title: one.title,
            passage: points(text, one.start_index, one.end_index),
          }]
        )
      ),
      queries: calls.flatMap(({ action }) => action.type === "search" ? action.queries ?? [] : []),
      searches: usage.tool_usage?.web_search.num_requests,
    };
  };
  return {
    name: "openai, responses",
    whole: async (model, question) => found(await client.responses.create(body(model, question))),
    async stream(model, question) {
      const stream = client.responses.stream(body(model, question));
      const events: string[] = [];
      stream.on("event", ({ type }) => events.push(type));
      const response = await stream.finalResponse();
      const answer = found(response);
      const calls = response.output.filter(({ type }) => type === "web_search_call").length;
      const told = (type: string) => events.filter((one) => one === type).length;
      for (const step of ["in_progress", "searching", "completed"]) {
        if (told(`response.web_search_call.${step}`) !== calls) {
          throw new Error(`${step}: ${events.join(" ")}`);
        }
      }
      const added = told("response.output_text.annotation.added");
      if (added !== answer.sources.length) throw new Error(`${added} annotations were told`);
      return answer;
    },
  };
}

export function messagesSearcher({ url, key }: Address): Searcher {
  const client = new Anthropic({ baseURL: `${url}/chat`, apiKey: key, maxRetries: 0 });
  const body = (model: string, content: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model,
    max_tokens: 2000,
    messages: [{ role: "user", content }],
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 5 }],
  });
  const found = ({ content, usage }: Anthropic.Message): Found => {
    const uses = content.filter((block) => block.type === "server_tool_use");
    const results = content.filter((block) => block.type === "web_search_tool_result");
    for (const use of uses) {
      const result = results.find((one) => one.tool_use_id === use.id);
      if (!Array.isArray(result?.content)) throw new Error(`no result of ${use.id}`);
    }
    return {
      text: content.map((block) => block.type === "text" ? block.text : "").join(""),
      sources: content.flatMap((block) =>
        block.type !== "text"
          ? []
          : (block.citations ?? []).flatMap((one) =>
            one.type !== "web_search_result_location" ? [] : [{
              url: one.url,
              title: one.title ?? "",
              // The dialect's sources stand for their whole block.
              passage: block.text.startsWith("finding") ? block.text : undefined,
            }]
          )
      ),
      queries: uses.map(({ input }) => (input as { query: string }).query),
      searches: usage.server_tool_use?.web_search_requests,
    };
  };
  return {
    name: "@anthropic-ai/sdk",
    whole: async (model, question) => found(await client.messages.create(body(model, question))),
    stream: async (model, question) =>
      found(await client.messages.stream(body(model, question)).finalMessage()),
  };
}

export function generateSearcher({ url, key }: Address): Searcher {
  const { models } = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/chat` } });
  const ask = (model: string, contents: string) => ({
    model,
    contents,
    config: { tools: [{ googleSearch: {} }], maxOutputTokens: 2000 },
  });
  type Answer = Awaited<ReturnType<typeof models.generateContent>>;
  const found = (answers: readonly Answer[]): Found => {
    const text = answers.map((one) => one.text ?? "").join("");
    const bytes = new TextEncoder().encode(text);
    const grounding = answers.findLast((one) => one.candidates?.[0]?.groundingMetadata)
      ?.candidates?.[0]?.groundingMetadata;
    const chunks = grounding?.groundingChunks ?? [];
    return {
      text,
      sources: (grounding?.groundingSupports ?? []).flatMap(({ segment, groundingChunkIndices }) =>
        (groundingChunkIndices ?? []).map((index) => ({
          url: chunks[index]?.web?.uri ?? "",
          title: chunks[index]?.web?.title ?? "",
          passage: new TextDecoder().decode(
            bytes.slice(segment?.startIndex ?? 0, segment?.endIndex ?? 0),
          ),
        }))
      ),
      queries: grounding?.webSearchQueries ?? [],
      searches: undefined,
    };
  };
  return {
    name: "@google/genai",
    whole: async (model, question) => found([await models.generateContent(ask(model, question))]),
    stream: async (model, question) =>
      found(await Array.fromAsync(await models.generateContentStream(ask(model, question)))),
  };
}

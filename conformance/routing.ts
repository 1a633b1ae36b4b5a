import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { expect, helloPrompt, NotOffered, type ServerAddress } from "./feature.ts";
import { type Cell, cellOf, renderCells } from "./table.ts";

/** The columns of the table of routing, in its order. */
const routingNames = [
  "plain name",
  "virtual",
  "fallback",
  "fallback, stream",
  "cut, stream",
  "cache",
  "cache, stream",
] as const;

/** One row of the table: routing as the clients of a dialect see it. */
export interface RoutingRow {
  dialect: string;
  cells: ReadonlyMap<string, Cell>;
}

export interface RoutingModels {
  /** A vendor's own model, with its vendor. */
  first: string;
  /** A model of another vendor. */
  second: string;
  /** A virtual model that the server has. */
  virtual: string | undefined;
}

interface Question {
  model: string;
  text: string;
  headers?: Record<string, string>;
}

interface AnswerText {
  text: string;
  headers: Headers;
}

/** A dialect's own client library. Returns the text that it read, and the answer's headers. */
interface Caller {
  dialect: string;
  whole(question: Question): Promise<AnswerText>;
  /** `heard` is called with each piece of text. */
  stream(question: Question, heard?: (text: string) => void): Promise<AnswerText>;
}

/** Tests every feature of routing in each dialect. */
export async function routingRows(
  server: ServerAddress,
  models: RoutingModels,
): Promise<RoutingRow[]> {
  const rows: RoutingRow[] = [];
  const callers = [chatCaller, responsesCaller, messagesCaller, generateCaller];
  for (const caller of callers.map((create) => create(server))) {
    const probes = probesOf(caller, models);
    const cells = new Map<string, Cell>();
    for (const name of routingNames) cells.set(name, await cellOf(probes[name]));
    rows.push({ dialect: caller.dialect, cells });
  }
  return rows;
}

/** Returns the table in Markdown, followed by a line for each failure. */
export function renderRouting(rows: readonly RoutingRow[]): string {
  return renderCells(
    ["caller"],
    routingNames,
    rows.map(({ dialect, cells }) => ({ names: [dialect], cells })),
  );
}

function probesOf(
  caller: Caller,
  models: RoutingModels,
): Record<typeof routingNames[number], () => Promise<void>> {
  return {
    "plain name": () => plainName(caller, models),
    virtual: () => virtualModel(caller, models),
    fallback: () => fallback((question) => caller.whole(question), models),
    "fallback, stream": () => fallback((question) => caller.stream(question), models),
    "cut, stream": () => cutStream(caller, models),
    cache: () => cache((question) => caller.whole(question), models),
    "cache, stream": () => cache((question) => caller.stream(question), models),
  };
}

/** A vendor's model is found without its vendor's name. */
async function plainName(caller: Caller, { first }: RoutingModels): Promise<void> {
  const told = await caller.whole({
    model: first.slice(first.indexOf("/") + 1),
    text: helloPrompt,
  });
  expectAnswer(told, first);
  expect(told.headers.get("x-attempts") === null, "X-Attempts though there was one");
}

async function virtualModel(caller: Caller, { virtual }: RoutingModels): Promise<void> {
  if (virtual === undefined) throw new NotOffered("the server has no virtual model");
  const told = await caller.whole({ model: virtual, text: helloPrompt });
  expect(told.text !== "", "no text");
  const answered = told.headers.get("x-model");
  expect(answered?.includes("/"), `X-Model is ${answered}, no model with its vendor`);
}

/** Simulated vendors fail on request; real ones answer, which proves nothing. */
async function fallback(
  ask: (question: Question) => Promise<AnswerText>,
  { first, second }: RoutingModels,
): Promise<void> {
  const told = await ask({
    model: first,
    text: `[error:503][at:${vendorOf(first)}] ${helloPrompt}`,
    headers: { "x-fallback-models": second },
  });
  if (told.headers.get("x-model") === first) throw new NotOffered("the first vendor didn't fail");
  expectAnswer(told, second);
  expect(told.headers.get("x-attempts") === "2", "X-Attempts isn't 2");
}

/** A stream that has begun is not restarted elsewhere: the caller gets an error when it is cut. */
async function cutStream(caller: Caller, { first, second }: RoutingModels): Promise<void> {
  let heard = "";
  const told = await caller.stream({
    model: first,
    text: `[cut][at:${vendorOf(first)}][long:40] ${helloPrompt}`,
    headers: { "x-fallback-models": second },
  }, (text) => heard += text).catch((thrown: unknown) => {
    // Google's library reports a status for errors within a stream, too.
    expect(heard !== "" || !isAnswer(thrown), `it was refused: ${String(thrown)}`);
    return undefined;
  });
  if (told !== undefined) {
    expect(told.headers.get("x-model") === first, "it was answered by another model");
    throw new NotOffered("the vendor's stream wasn't cut");
  }
  expect(heard !== "", "it failed before any text");
}

/** The second of two equal calls is answered without a vendor. */
async function cache(
  ask: (question: Question) => Promise<AnswerText>,
  { first }: RoutingModels,
): Promise<void> {
  const question = {
    model: first,
    text: `${helloPrompt} Don't mention ${crypto.randomUUID()}.`,
    headers: { "x-cache-ttl": "60" },
  };
  const filled = await ask(question);
  expect(filled.headers.get("x-cache") === "MISS", "the first call isn't a MISS");
  const hit = await ask(question);
  expect(hit.headers.get("x-cache") === "HIT", "the second call isn't a HIT");
  expect(hit.headers.get("age") !== null, "a hit without Age");
  expect(hit.text !== "" && hit.text === filled.text, "the hit has another text");
  const ids = [filled, hit].map(({ headers }) => headers.get("x-transaction-id"));
  expect(ids[1] !== null && ids[0] !== ids[1], "the hit has no transaction of its own");
}

function expectAnswer({ text, headers }: AnswerText, model: string): void {
  expect(text !== "", "no text");
  const answered = headers.get("x-model");
  expect(answered === model, `X-Model is ${answered}, not ${model}`);
}

/** Whether a library's error reports an answer with an HTTP status. */
function isAnswer(thrown: unknown): boolean {
  return typeof (thrown as { status?: unknown }).status === "number";
}

function vendorOf(model: string): string {
  return model.slice(0, model.indexOf("/"));
}

function openai({ baseUrl, key }: ServerAddress): OpenAI {
  return new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
}

function chatCaller(server: ServerAddress): Caller {
  const { completions } = openai(server).chat;
  const body = ({ model, text }: Question) => ({
    ...{ model, messages: [{ role: "user" as const, content: text }] },
  });
  return {
    dialect: "chat",
    async whole(question) {
      const { data, response } = await completions.create(body(question), optionsOf(question))
        .withResponse();
      return { text: data.choices[0]?.message.content ?? "", headers: response.headers };
    },
    async stream(question, heard = () => {}) {
      const { data, response } = await completions.create(
        { ...body(question), stream: true },
        optionsOf(question),
      ).withResponse();
      let text = "";
      for await (const chunk of data) {
        const piece = chunk.choices[0]?.delta.content ?? "";
        text += piece;
        heard(piece);
      }
      return { text, headers: response.headers };
    },
  };
}

function responsesCaller(server: ServerAddress): Caller {
  const { responses } = openai(server);
  const body = ({ model, text }: Question) => ({ model, input: text });
  return {
    dialect: "responses",
    async whole(question) {
      const { data, response } = await responses.create(body(question), optionsOf(question))
        .withResponse();
      return { text: data.output_text, headers: response.headers };
    },
    async stream(question, heard = () => {}) {
      const { data, response } = await responses.create(
        { ...body(question), stream: true },
        optionsOf(question),
      ).withResponse();
      let text = "";
      let isComplete = false;
      for await (const event of data) {
        isComplete ||= event.type === "response.completed";
        if (event.type !== "response.output_text.delta") continue;
        text += event.delta;
        heard(event.delta);
      }
      // The library doesn't check how a response ended.
      if (!isComplete) throw new Error("the stream ended without response.completed");
      return { text, headers: response.headers };
    },
  };
}

function messagesCaller({ baseUrl, key }: ServerAddress): Caller {
  const { messages } = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  const body = ({ model, text }: Question) => ({
    ...{ model, max_tokens: 8000, messages: [{ role: "user" as const, content: text }] },
  });
  return {
    dialect: "messages",
    async whole(question) {
      const { data, response } = await messages.create(body(question), optionsOf(question))
        .withResponse();
      const texts = data.content.map((block) => block.type === "text" ? block.text : "");
      return { text: texts.join(""), headers: response.headers };
    },
    async stream(question, heard = () => {}) {
      const { data, response } = await messages.create(
        { ...body(question), stream: true },
        optionsOf(question),
      ).withResponse();
      let text = "";
      for await (const event of data) {
        if (event.type !== "content_block_delta" || event.delta.type !== "text_delta") continue;
        text += event.delta.text;
        heard(event.delta.text);
      }
      return { text, headers: response.headers };
    },
  };
}

function generateCaller({ baseUrl, key }: ServerAddress): Caller {
  const { models } = new GoogleGenAI({
    apiKey: key,
    httpOptions: { baseUrl: `${baseUrl}/chat` },
  });
  const body = ({ model, text, headers = {} }: Question) => ({
    ...{ model, contents: text, config: { httpOptions: { headers } } },
  });
  return {
    dialect: "generate",
    async whole(question) {
      const answer = await models.generateContent(body(question));
      return { text: answer.text ?? "", headers: new Headers(answer.sdkHttpResponse?.headers) };
    },
    async stream(question, heard = () => {}) {
      let text = "";
      let headers = new Headers();
      for await (const part of await models.generateContentStream(body(question))) {
        headers = new Headers(part.sdkHttpResponse?.headers);
        text += part.text ?? "";
        heard(part.text ?? "");
      }
      return { text, headers };
    },
  };
}

function optionsOf({ headers = {} }: Question) {
  return { headers };
}

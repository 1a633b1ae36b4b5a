/**
 * What a program does with the client, against a service in front of simulated vendors. It runs as
 * it is on Deno, on Node and in a browser, so it uses what all of them have.
 */
import {
  callInfo,
  createChatCompletion,
  createChatCompletionVendorB,
  createExport,
  createGateway,
  createSpeechVendorB,
  createTranscriptionVendorB,
  downloadExport,
  type EventOf,
  exportRows,
  type Fetch,
  type Gateway,
  GatewayError,
  getCredits,
  getInteraction,
  getUsage,
  interactionRows,
  isGatewayError,
  listModels,
  newRequestId,
  parseModelId,
  rateLimitOf,
  streamChatCompletion,
  streamContent,
  streamEvents,
  streamImage,
  streamMessage,
  streamResponse,
} from "@demeter-gateway/client";

export interface Stage {
  baseUrl: string;
  apiKey: string;
}

/** Plays it all and gives one line a scene; throws where something is not as it should be. */
export async function story(stage: Stage): Promise<string[]> {
  const client = createGateway(stage);
  const said: string[] = [];
  for (const scene of [models, whole, streams, family, media, failures, errorsInStreams, leaving]) {
    said.push(`${scene.name}: ${await scene(client)}`);
  }
  for (const scene of [retried, lostAnswer, figures, exported]) {
    said.push(`${scene.name}: ${await scene(client, stage)}`);
  }
  return said;
}

const chatModel = "vendor-b/gpt-4.1";
const ask = (content: string) => ({
  model: chatModel,
  messages: [{ role: "user" as const, content }],
});

async function models(client: Gateway): Promise<string> {
  const { data, response } = await listModels({ client });
  const vendors = new Set(data.data.map(({ id }) => parseModelId(id).vendor));
  const limit = rateLimitOf(response);
  check(limit !== undefined && limit.limit > 0 && limit.remaining >= 0, "the rate limit is read");
  return [...vendors].sort().join(" ");
}

async function whole(client: Gateway): Promise<string> {
  const { data, response } = await createChatCompletion({ client, body: ask("[say:Hello.]") });
  check((data.usage?.total_tokens ?? 0) > 0, "usage is there");
  check(callInfo(response).transactionId !== undefined, "the transaction is named");
  return data.choices[0]?.message.content ?? "";
}

async function streams(client: Gateway): Promise<string> {
  const text = "[say:Streams of all dialects.]";
  const messages = [{ role: "user" as const, content: text }];
  let [chat, response, message, content] = ["", "", "", ""];
  for await (const chunk of await streamChatCompletion({ client, body: ask(text) })) {
    chat += chunk.choices[0]?.delta.content ?? "";
  }
  const asked = { model: chatModel, input: text };
  for await (const event of await streamResponse({ client, body: asked })) {
    if (event.type === "response.output_text.delta") response += event.delta;
  }
  const body = { model: "vendor-c/claude-haiku-4-5", max_tokens: 64, messages };
  for await (const event of await streamMessage({ client, body })) {
    if (event.type !== "content_block_delta" || event.delta.type !== "text_delta") continue;
    message += event.delta.text;
  }
  const pieces = await streamContent({
    client,
    path: { model: "vendor-d/gemini-2.5-flash" },
    body: { contents: [{ role: "user", parts: [{ text }] }] },
  });
  for await (const piece of pieces) {
    content += piece.candidates?.[0]?.content?.parts?.map((part) => part.text ?? "").join("") ?? "";
  }
  check(chat === response && chat === message && chat === content, "all dialects say the same");
  return chat;
}

async function family(client: Gateway): Promise<string> {
  type Chunk = EventOf<typeof createChatCompletionVendorB>;
  const chunks: Chunk[] = [];
  const body = { ...ask("[say:Own family.]"), model: "gpt-4.1" };
  const stream = await streamEvents(createChatCompletionVendorB, { client, body });
  for await (const chunk of stream) chunks.push(chunk);
  check(stream.info.transactionId !== undefined, "a stream names its transaction");
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}

async function media(client: Gateway): Promise<string> {
  const seen: string[] = [];
  const drawn = { model: "vendor-b/gpt-image-2", prompt: "A red door.", partial_images: 1 };
  for await (const event of await streamImage({ client, body: drawn })) {
    if (event.type === "image_generation.partial_image") {
      seen.push(`unfinished ${event.partial_image_index}`);
    } else if (event.type === "image_generation.completed") {
      check((event.usage?.output_tokens ?? 0) > 0, "a picture's usage is there");
      check(atob(event.b64_json).startsWith("\x89PNG"), "it is a picture");
      seen.push("picture");
    }
  }
  const said = {
    model: "gpt-4o-mini-tts",
    input: "Good morning.",
    voice: "coral",
    stream_format: "sse" as const,
  };
  let sound = "";
  for await (const event of await streamEvents(createSpeechVendorB, { client, body: said })) {
    if (event.type === "speech.audio.delta") sound += atob(event.audio);
    else if ((event.usage?.output_tokens ?? 0) > 0) seen.push("speech");
  }
  check(sound.length > 1000, "there is sound");
  const bytes = Uint8Array.from(sound, (letter) => letter.charCodeAt(0));
  const heard = { model: "gpt-4o-transcribe", file: new File([bytes], "words.mp3") };
  let text = "";
  for await (
    const event of await streamEvents(createTranscriptionVendorB, { client, body: heard })
  ) {
    if (event.type === "transcript.text.delta") text += event.delta;
    else check(event.text === text, "the pieces are the whole");
  }
  if (text.includes("words.mp3")) seen.push("transcript");
  return seen.join(", ");
}

async function failures(client: Gateway): Promise<string> {
  const wrong = [
    createChatCompletion({ client, body: { ...ask("x"), model: "vendor-b/none" } }),
    createChatCompletion({ client, body: { ...ask("x"), n: -1 } }),
    streamChatCompletion({ client, body: { ...ask("x"), messages: [] } }),
  ];
  const thrown = await Promise.all(wrong.map((call) => call.then(() => undefined, String)));
  check(!thrown.includes(undefined), "each is refused");
  const error = await failure(createChatCompletion({ client, body: { ...ask("x"), n: -1 } }));
  check(error.param === "n" && error.status === 400, "the field is named");
  return error.code;
}

async function errorsInStreams(client: Gateway): Promise<string> {
  const codes: string[] = [];
  for (const word of ["[midstream-error]", "[cut]"]) {
    const read = async () => {
      for await (const _ of await streamChatCompletion({ client, body: ask(word) })) continue;
    };
    codes.push((await failure(read())).code);
  }
  return codes.join(" ");
}

async function leaving(client: Gateway): Promise<string> {
  let chunks = 0;
  const body = ask("[long:2000] [drip:5]");
  for await (const _ of await streamChatCompletion({ client, body })) if (++chunks === 3) break;
  const controller = new AbortController();
  const stream = await streamChatCompletion({ client, body, signal: controller.signal });
  const name = await (async () => {
    for await (const _ of stream) controller.abort();
  })().then(() => "", (thrown: unknown) => thrown instanceof Error ? thrown.name : "");
  check(name === "AbortError", `an abort is an abort: ${name}`);
  return `after ${chunks} chunks`;
}

/** A vendor that is overloaded three times: the service tries twice more, the client once. */
async function retried(_: Gateway, stage: Stage): Promise<string> {
  const waits: number[] = [];
  const client = createGateway({
    ...stage,
    retry: { random: () => 0, sleep: (ms) => Promise.resolve(void waits.push(ms)) },
  });
  const content = `[error:503x3] [say:At last.] ${newRequestId()}`;
  const { data } = await createChatCompletion({ client, body: ask(content) });
  check(waits.length === 1 && waits[0]! >= 1000, `one wait of a second: ${waits}`);
  return data.choices[0]?.message.content ?? "";
}

/** An answer that was made and never arrived is not made again, and not charged again. */
async function lostAnswer(client: Gateway, stage: Stage): Promise<string> {
  let lost = 0;
  const losing: Fetch = async (request) => {
    const answer = await fetch(request);
    if (lost++ > 0) return answer;
    await answer.arrayBuffer();
    throw new TypeError("the connection broke");
  };
  const careful = createGateway({
    ...stage,
    fetch: losing,
    retry: { sleep: () => Promise.resolve() },
  });
  const session = newRequestId();
  const { response } = await createChatCompletion({
    client: careful,
    body: ask("[say:Once.]"),
    headers: { "X-Session-ID": session },
  });
  check(callInfo(response).replayed, "the second try is a replay");
  const rows: string[] = [];
  for await (const row of exportRows({ client, filters: { session_id: session } })) {
    rows.push(row.transaction_id);
  }
  check(rows[0] === callInfo(response).transactionId, "the row is the call's");
  return `${rows.length} row`;
}

async function figures(client: Gateway): Promise<string> {
  const session = newRequestId();
  const ids: (string | undefined)[] = [];
  for (let n = 0; n < 3; n++) {
    const headers = { "X-Session-ID": session, "X-User-ID": session };
    const { response } = await createChatCompletion({ client, body: ask("[say:One.]"), headers });
    const { transactionId, costUsd, chargedUsd } = callInfo(response);
    check(costUsd !== undefined && costUsd === chargedUsd, "the cost is named");
    ids.unshift(transactionId);
  }
  const rows: string[] = [];
  for await (const row of interactionRows({ client, query: { session_id: [session], limit: 2 } })) {
    rows.push(row.transaction_id);
  }
  check(rows.join() === ids.join(), "pages hold the calls, newest first");
  const { data: call } = await getInteraction({ client, path: { transaction_id: rows[0]! } });
  check(call.lines.some(({ dimension }) => dimension === "output"), "the cost has lines");
  const { data: usage } = await getUsage({ client, query: { group_by: "user" } });
  check(usage.data.some(({ user, calls }) => user === session && calls === 3), "usage by user");
  const { data: credits } = await getCredits({ client });
  check(Number(credits.charged_month_usd) > 0, "credit is there");
  for await (
    const row of exportRows({
      client,
      start_date: "2026-01-01",
      filters: { session_id: session },
      columns: ["model", "cost_usd"],
    })
  ) {
    check(Object.keys(row).join() === "model,cost_usd" && row.cost_usd !== null, "chosen columns");
  }
  return `${rows.length} calls`;
}

async function exported(client: Gateway): Promise<string> {
  const rows: unknown[] = [];
  for await (const row of exportRows({ client, table: "interactions" })) rows.push(row);
  const range = { start: "2026-01-01", end: "2099-12-31" };
  const { data } = await createExport({
    client,
    body: { range },
    headers: { "Prefer": "respond-async" },
  });
  if (!("request_id" in data) || typeof data.request_id !== "string") throw new Error("no job");
  let bytes = 0;
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of downloadExport({ client, request_id: data.request_id, pollMs: 20 })) {
    bytes += piece.length;
    text += decoder.decode(piece, { stream: true });
  }
  check(JSON.parse(text).length === rows.length, "both ways give the same rows");
  return bytes > 1000 ? "the same rows" : "nothing";
}

async function failure(call: Promise<unknown>): Promise<GatewayError> {
  const thrown = await call.then(() => undefined, (reason: unknown) => reason);
  if (isGatewayError(thrown)) return thrown;
  throw new Error(`Expected a GatewayError, got ${String(thrown)}`);
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`It does not hold that ${what}`);
}

/** The responses dialect: create (whole and streamed), retrieve, delete, list input. */
import type { Response as ApiResponse } from "openai/resources/responses/responses";
import { answerStream, answerWhole } from "./answers.ts";
import { readBehaviours } from "./behaviours.ts";
import {
  type ChatVendor,
  countAll,
  type Counts,
  findModel,
  reasoningWish,
  refuseForReasoning,
} from "./chat_vendor.ts";
import { refuseReserved } from "./chat_request.ts";
import { refuseMarks } from "./breakpoints.ts";
import { admit, bodyOf, type Exchange, headerNames } from "./exchange.ts";
import { asArray, asNumber, asObject, asText, type JsonObject } from "./json.ts";
import { type Output, think } from "./model.ts";
import { Problem } from "./problem.ts";
import { type ChatModel } from "./openai_models.ts";
import { outputItems, type OutputOptions } from "./responses_output.ts";
import {
  checkChain,
  checkResponsesRequest,
  itemsOf,
  readResponsesPrompt,
  refuseExtensions,
  requireCompacted,
  requireCounted,
} from "./responses_request.ts";
import { responsesScript } from "./responses_stream.ts";
import { type Route } from "./server.ts";
import { unixSeconds } from "./timing.ts";
import { countPromptTokens } from "./tokens.ts";

export type ResponseBody = Omit<ApiResponse, "output_text" | "usage"> & {
  usage: ApiResponse["usage"] | null;
};

interface StoredResponse {
  body: ResponseBody;
  input: JsonObject[];
  /** The items of the whole conversation, this response included. */
  chain: JsonObject[];
}

interface Shelf {
  responses: Map<string, StoredResponse>;
  /** Id of an item → id of the reasoning that it came after. */
  reasoning: Map<string, string>;
}

const KEPT_RESPONSES = 500;
const KEPT_PAIRS = 2000;

/** Creates the routes of a vendor of the responses dialect. They hold what the vendor stores. */
export function responsesRoutes(vendor: ChatVendor): Route[] {
  const shelf: Shelf = { responses: new Map(), reasoning: new Map() };
  const counting: Route = {
    method: "POST",
    path: /^\/responses\/input_tokens$/,
    handle: (exchange) => countInput(exchange, vendor, shelf),
  };
  const compacting: Route = {
    method: "POST",
    path: /^\/responses\/compact$/,
    handle: (exchange) => compact(exchange, vendor, shelf),
  };
  return [
    // Only the dialect's own vendor has these.
    ...vendor.isStrict ? [counting, compacting] : [],
    {
      method: "POST",
      path: /^\/responses$/,
      handle: (exchange) => create(exchange, vendor, shelf),
    },
    {
      method: "GET",
      path: /^\/responses\/([^/]+)$/,
      handle: (_exchange, match) => Response.json(stored(shelf, match[1]).body),
    },
    {
      method: "DELETE",
      path: /^\/responses\/([^/]+)$/,
      handle: (_exchange, match) => {
        const { id } = stored(shelf, match[1]).body;
        shelf.responses.delete(id);
        return Response.json({ id, object: "response", deleted: true });
      },
    },
    {
      method: "GET",
      path: /^\/responses\/([^/]+)\/input_items$/,
      handle: (_exchange, match) => inputItems(stored(shelf, match[1])),
    },
  ];
}

async function create(
  exchange: Exchange,
  vendor: ChatVendor,
  shelf: Shelf,
  body = bodyOf(exchange),
): Promise<Response> {
  checkResponsesRequest(body, vendor.isStrict);
  if (vendor.responsesTools) refuseExtensions(body, vendor.responsesTools);
  refuseReserved(body, vendor);
  const model = findModel(vendor, body.model);
  if (vendor.isStrict) refuseMarks(body, model.id);
  if (model.isReasoning) refuseForReasoning(body, vendor);
  else if (vendor.isStrict && asArray(body.include).includes("reasoning.encrypted_content")) {
    throw new Problem(400, "Encrypted content is not supported with this model.", {
      param: "include",
    });
  }
  const input = itemsOf(body, vendor.isStrict);
  const chain = [...previousItems(shelf, body), ...resolve(input, shelf, vendor.isStrict)];
  checkChain(chain, vendor.isStrict, (id) => shelf.reasoning.get(id));
  const prompt = readResponsesPrompt(body, chain, headerNames(exchange));
  const behaviours = readBehaviours(prompt.question, exchange.state.label);
  await admit(exchange, behaviours, prompt.question);
  const effort = asObject(body.reasoning)?.effort;
  const wish = reasoningWish({ reasoning_effort: effort }, model);
  const output = think({ ...prompt, reasoningSentences: wish.sentences }, behaviours);
  const counts = countAll(exchange, vendor, { ...body, input: chain }, [output]);
  const nextId = (prefix: string) => exchange.state.nextId(prefix, 32);
  const options = outputOptions(body, vendor, nextId);
  const finished = finishedBody(body, vendor, model, output, counts, options, nextId("resp_"));
  rememberReasoning(shelf, finished);
  if (body.store !== false) {
    keep(shelf, {
      body: finished,
      input,
      chain: [...chain, ...finished.output as unknown as JsonObject[]],
    });
  }
  if (body.stream === true) {
    const isObfuscated = vendor.hasObfuscation &&
      asObject(body.stream_options)?.include_obfuscation !== false;
    return answerStream(exchange, behaviours, responsesScript(finished, output, isObfuscated));
  }
  if (behaviours.ending === "error") {
    throw new Problem(500, "The simulated vendor fails in the middle, as asked.");
  }
  return answerWhole(exchange, behaviours, finished);
}

function outputOptions(
  body: JsonObject,
  vendor: ChatVendor,
  nextId: (prefix: string) => string,
): OutputOptions {
  const include = asArray(body.include);
  return {
    hasEncrypted: include.includes("reasoning.encrypted_content"),
    hasSummary: asObject(body.reasoning)?.summary != null ||
      asObject(body.reasoning)?.generate_summary != null,
    hasRawReasoning: vendor.hasRawReasoning === true,
    hasReasoningStatus: vendor.hasReasoningStatus === true,
    hasSources: include.includes("web_search_call.action.sources"),
    isCompaction: asObject(asArray(body.input).at(-1))?.type === "compaction_trigger",
    topLogprobs: include.includes("message.output_text.logprobs") || body.top_logprobs != null
      ? asNumber(body.top_logprobs) ?? 0
      : null,
    nextId,
  };
}

function finishedBody(
  body: JsonObject,
  vendor: ChatVendor,
  model: ChatModel,
  output: Output,
  counts: Counts,
  options: OutputOptions,
  id: string,
): ResponseBody {
  const isCut = output.finish === "length";
  const outputTokens = counts.output + counts.reasoning;
  const now = unixSeconds();
  const finished = {
    id,
    object: "response",
    created_at: now,
    completed_at: isCut ? null : now,
    status: isCut ? "incomplete" : "completed",
    background: false,
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: model.id,
    output: outputItems(output, options),
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...asObject(body.reasoning) },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: "default",
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: { type: "text" }, verbosity: "medium", ...asObject(body.text) },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    ...(output.searches.length === 0
      ? {}
      : { tool_usage: { ...noImages, web_search: { num_requests: output.searches.length } } }),
    usage: {
      ...vendor.responsesUsage?.(counts, model),
      input_tokens: counts.input,
      input_tokens_details: {
        cached_tokens: counts.cached,
        cache_write_tokens: counts.written,
      },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: counts.reasoning },
      total_tokens: counts.input + outputTokens,
    },
    user: body.user ?? null,
    metadata: body.metadata ?? {},
    access_programs: null,
  };
  // The echoed members are the caller's own, checked above but not typed.
  return finished as unknown as ResponseBody;
}

const noTokens = { image_tokens: 0, text_tokens: 0 };
/** The vendor counts both of its tools where it counts one. */
const noImages = {
  image_gen: {
    ...{ input_tokens: 0, input_tokens_details: noTokens },
    ...{ output_tokens: 0, output_tokens_details: noTokens },
    total_tokens: 0,
  },
};

function keep({ responses }: Shelf, response: StoredResponse): void {
  responses.set(response.body.id, response);
  forgetOldest(responses, KEPT_RESPONSES);
}

/** Remembers which reasoning an answer's next item, a message or call, belongs to. */
function rememberReasoning({ reasoning }: Shelf, { output }: ResponseBody): void {
  const [first, next] = output;
  if (first?.type !== "reasoning" || next?.id == null) return;
  reasoning.set(next.id, first.id);
  forgetOldest(reasoning, KEPT_PAIRS);
}

function forgetOldest(held: Map<string, unknown>, most: number): void {
  const oldest = held.size > most ? held.keys().next().value : undefined;
  if (oldest !== undefined) held.delete(oldest);
}

function stored(shelf: Shelf, id = ""): StoredResponse {
  const found = shelf.responses.get(id);
  if (found) return found;
  throw new Problem(404, `Response with id '${id}' not found.`, { param: "id" });
}

function previousItems(shelf: Shelf, body: JsonObject): JsonObject[] {
  const id = asText(body.previous_response_id);
  if (id === "") return [];
  const found = shelf.responses.get(id);
  if (found) return found.chain;
  throw new Problem(400, `Previous response with id '${id}' not found.`, {
    code: "previous_response_not_found",
    param: "previous_response_id",
  });
}

/** Replaces references by the stored items that they name. Throws a 404 Problem if unknown. */
function resolve(items: readonly JsonObject[], shelf: Shelf, isStrict: boolean): JsonObject[] {
  return items.map((item) => {
    const isBareReasoning = isStrict && item.type === "reasoning" && item.id &&
      typeof item.encrypted_content !== "string";
    if (item.type !== "item_reference" && !isBareReasoning) return item;
    for (const { chain } of shelf.responses.values()) {
      const known = chain.find((other) => other.id === item.id);
      if (known) return known;
    }
    throw new Problem(
      404,
      `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`,
      { param: "input" },
    );
  });
}

/** Answers a request to compact: with the user's messages and one item for everything else. */
async function compact(exchange: Exchange, vendor: ChatVendor, shelf: Shelf): Promise<Response> {
  const body = bodyOf(exchange);
  requireCompacted(body);
  const own = itemsOf(body, vendor.isStrict);
  const messages = [...previousItems(shelf, body), ...own].filter(({ role }) => role === "user")
    .map(({ id, content }) => ({
      ...{ id: id ?? exchange.state.nextId("msg_", 32), type: "message", status: "completed" },
      role: "user",
      content: typeof content === "string" ? [{ type: "input_text", text: content }] : content,
    }));
  const asked = { ...body, input: [...own, { type: "compaction_trigger" }], store: false };
  const answer = await create(exchange, vendor, shelf, asked);
  const { id, created_at, output, usage } = await answer.json() as ResponseBody;
  const compacted = { id, object: "response.compaction", created_at, usage };
  return Response.json({ ...compacted, output: [...messages, ...output] });
}

/** Answers with the input tokens that a response to the same request would report. */
function countInput(exchange: Exchange, vendor: ChatVendor, shelf: Shelf): Response {
  const body = bodyOf(exchange);
  requireCounted(body);
  findModel(vendor, body.model);
  const chain = [
    ...previousItems(shelf, body),
    ...resolve(itemsOf(body, vendor.isStrict), shelf, vendor.isStrict),
  ];
  const { tools, instructions } = body;
  const tokens = countPromptTokens({ tools, input: chain, instructions });
  return Response.json({ object: "response.input_tokens", input_tokens: tokens });
}

function inputItems(response: StoredResponse): Response {
  const data = response.input.map((item, index) => ({
    id: asText(item.id) || `msg_${response.body.id}_${index}`,
    ...item,
  })).reverse();
  return Response.json({
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  });
}

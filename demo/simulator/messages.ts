/** The messages vendor: create (whole and streamed), token count, model list. */
import type { ContentBlock, Message, Usage } from "@anthropic-ai/sdk/resources/messages/messages";
import { answerStream, answerWhole } from "./answers.ts";
import { readBehaviours } from "./behaviours.ts";
import { type Counts } from "./chat_vendor.ts";
import { admit, bodyOf, type Exchange, headerNames } from "./exchange.ts";
import { asNumber, asObject, asText, type JsonObject, parseJson } from "./json.ts";
import { countCached, countUncached, type PromptTokens } from "./messages_cache.ts";
import { signThinking } from "./messages_binding.ts";
import { compacted, summaryPrompt } from "./messages_compaction.ts";
import { checkMessages, checkParameters, rulesByBeta } from "./messages_checks.ts";
import { MESSAGES_MODELS, type MessagesModel } from "./messages_models.ts";
import { invalid, require } from "./messages_problems.ts";
import { readMessagesPrompt } from "./messages_prompt.ts";
import { BODY, BODY_BETAS, COUNT_BODY, SAMPLING } from "./messages_rules.ts";
import { citedBlocks, searchBlocks } from "./messages_search.ts";
import { messagesScript } from "./messages_stream.ts";
import { type Output, think } from "./model.ts";
import { Problem } from "./problem.ts";

const OLDER_VERSION = "2023-06-01";
const VERSIONS = [OLDER_VERSION, "2026-10-21"];

export function createMessage(exchange: Exchange): Promise<Response> {
  const version = versionOf(exchange);
  const rules = version === OLDER_VERSION ? { ...BODY, ...SAMPLING } : BODY;
  const ofBetas = rulesByBeta(BODY_BETAS, exchange.headers);
  const body = underTodaysName(require(bodyOf(exchange), { ...rules, ...ofBetas }, ""));
  return answerMessages(exchange, body, findMessagesModel(body.model));
}

function underTodaysName({ output_format, ...body }: JsonObject): JsonObject {
  if ((output_format ?? null) === null) return body;
  return { ...body, output_config: { ...asObject(body.output_config), format: output_format } };
}

/** Answers a request whose fields are checked; `moreUsage` is added to the standard counts. */
export async function answerMessages(
  exchange: Exchange,
  body: JsonObject,
  model: MessagesModel,
  moreUsage: (counts: Counts) => JsonObject = () => ({}),
): Promise<Response> {
  checkParameters(body, model);
  checkMessages(body, model, exchange.headers);
  const wish = thinkingWish(body, model);
  const prompt = {
    ...readMessagesPrompt(body, headerNames(exchange)),
    reasoningSentences: wish.sentences,
  };
  const behaviours = readBehaviours(prompt.question, exchange.state.label);
  await admit(exchange, behaviours, prompt.question);
  const compacts = (body.compaction ?? null) !== null;
  const output = think(compacts ? summaryPrompt(prompt) : prompt, behaviours);
  const tokens = countCached(body, exchange.state);
  const answer = messageOf(exchange, body, model, output, tokens, wish.isShown);
  const message = compacts ? compacted(answer, output.text) : answer;
  Object.assign(message.usage, moreUsage(countsOf(output, tokens)));
  const headers = { "request-id": exchange.state.nextId("req_") };
  if (body.stream === true) {
    const script = messagesScript(message, output);
    return answerStream(exchange, behaviours, { ...script, headers });
  }
  if (behaviours.ending === "error") throw new Problem(529, "Overloaded");
  return answerWhole(exchange, behaviours, message, headers);
}

export function countTokens(exchange: Exchange): Response {
  versionOf(exchange);
  const ofBetas = rulesByBeta(BODY_BETAS, exchange.headers);
  const body = underTodaysName(require(bodyOf(exchange), { ...COUNT_BODY, ...ofBetas }, ""));
  const model = findMessagesModel(body.model);
  checkMessages(body, model, exchange.headers);
  return Response.json({ input_tokens: countUncached(body) });
}

/** The model of that name. Throws the vendor's 404 Problem. */
export function findMessagesModel(name: unknown): MessagesModel {
  const model = MESSAGES_MODELS.find((row) => row.id === name);
  if (model) return model;
  throw new Problem(404, `model: ${name}`);
}

function versionOf(exchange: Exchange): string {
  const version = exchange.headers.get("anthropic-version");
  if (version === null) throw invalid("anthropic-version", "header is required");
  if (VERSIONS.includes(version)) return version;
  throw invalid("anthropic-version", `"${version}" is not a valid version`);
}

const EFFORT_SENTENCES: Readonly<Record<string, number>> = {
  low: 1,
  medium: 2,
  high: 4,
  xhigh: 6,
  max: 8,
};

function thinkingWish(
  body: JsonObject,
  model: MessagesModel,
): { sentences: number; isShown: boolean } {
  const thinking = asObject(body.thinking);
  const type = asText(thinking?.type, model.thinksByDefault ? "adaptive" : "disabled");
  const display = asText(thinking?.display, model.showsThinking ? "summarized" : "omitted");
  const budget = asNumber(thinking?.budget_tokens) ?? 0;
  const effort = asText(asObject(body.output_config)?.effort, "medium");
  const sentences = type === "enabled"
    ? (budget < 4096 ? 1 : 4)
    : type === "adaptive"
    ? EFFORT_SENTENCES[effort] ?? 2
    : 0;
  return { sentences, isShown: display === "summarized" };
}

function messageOf(
  exchange: Exchange,
  body: JsonObject,
  model: MessagesModel,
  output: Output,
  tokens: PromptTokens,
  isThinkingShown: boolean,
): Message {
  const content: ContentBlock[] = [];
  const searches = searchBlocks(exchange, output);
  if (output.reasoning.tokens > 0) {
    const thinking = isThinkingShown ? output.reasoning.chunks.join("") : "";
    const found = searches as unknown as JsonObject[];
    const signature = signThinking(body, model, thinking, found);
    content.push({ type: "thinking", thinking, signature });
  }
  content.push(...searches);
  // The vendor omits `citations` if there are none, although the published type requires it.
  content.push(...citedBlocks(output.text, output.passages));
  for (const call of output.calls) {
    content.push({
      type: "tool_use",
      id: exchange.state.nextId("toolu_"),
      name: call.name,
      input: parseJson(call.input) ?? {},
      caller: { type: "direct" },
    });
  }
  return {
    id: exchange.state.nextId("msg_"),
    type: "message",
    role: "assistant",
    model: model.id,
    content,
    stop_reason: stopReason(output),
    stop_sequence: output.stopSequence,
    stop_details: output.refusal === null
      ? null
      : { type: "refusal", category: "general_harms", explanation: output.refusal },
    container: null,
    diagnostics: null,
    usage: usageOf(output, tokens),
  };
}

/** Converts token counts to the form of the other dialects. */
function countsOf(output: Output, tokens: PromptTokens): Counts {
  const { uncached, written5m, written1h, read } = tokens;
  return {
    input: uncached + written5m + written1h + read,
    cached: read,
    written: written5m + written1h,
    searches: output.searches.length,
    output: output.tokens,
    reasoning: output.reasoning.tokens,
  };
}

function stopReason(output: Output): Message["stop_reason"] {
  switch (output.finish) {
    case "length":
      return "max_tokens";
    case "tools":
      return "tool_use";
    case "refusal":
      return "refusal";
    case "stop":
      return output.stopSequence === null ? "end_turn" : "stop_sequence";
  }
}

function usageOf(output: Output, tokens: PromptTokens): Usage {
  return {
    input_tokens: tokens.uncached,
    cache_creation_input_tokens: tokens.written5m + tokens.written1h,
    cache_read_input_tokens: tokens.read,
    cache_creation: {
      ephemeral_5m_input_tokens: tokens.written5m,
      ephemeral_1h_input_tokens: tokens.written1h,
    },
    output_tokens: output.tokens + output.reasoning.tokens,
    output_tokens_details: { thinking_tokens: output.reasoning.tokens },
    server_tool_use: output.searches.length === 0
      ? null
      : { web_search_requests: output.searches.length, web_fetch_requests: 0 },
    service_tier: "standard",
    speed: "standard",
    inference_geo: "not_available",
  };
}

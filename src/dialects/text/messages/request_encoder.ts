import type { Steps } from "../../../base/steps.ts";
import { SchemaBudget } from "../../kernel/schema_refs.ts";
import type {
  CanonicalRequest,
  Loss,
  SystemText,
  WebSearch,
} from "../../kernel/canonical_request.ts";
import type { EncodedRequest, Target } from "../../kernel/dialect.ts";
import { searchFor } from "../../kernel/web_search.ts";
import { arrangeTurns } from "./request/arrange_turns.ts";
import { CacheMarks, setMarks } from "./request/cache_marks.ts";
import { planFormat } from "./request/encode_format.ts";
import { writeSettings } from "./request/encode_settings.ts";
import { planThinking } from "./request/encode_thinking.ts";
import { planTools } from "./request/encode_tools.ts";
import { writeTurns } from "./request/encode_turns.ts";
import { type ModelFacts, modelFacts } from "./models.ts";
import { cacheSettings, loseSettings } from "../../kernel/setting_losses.ts";

/**
 * Writes a request for a vendor of this dialect, version 2023-06-01, with only the fields that the
 * model accepts, since it refuses others; what can't be carried is listed as a loss.
 */
export function* encodeRequest(
  request: CanonicalRequest,
  target: Target,
): Steps<EncodedRequest> {
  const losses: Loss[] = request.unsupported.map(({ path, weight }) => ({ path, weight }));
  loseSettings(request, ["promptCacheKey", ...cacheSettings], losses);
  const facts = modelFacts(target.model);
  const limit = target.maxOutputTokens ?? facts.maxOutputTokens;
  const marks = new CacheMarks();
  const room = new SchemaBudget();
  const format = planFormat(request, facts, losses, room);
  const search = searchToSend(request, target, facts, losses);
  const tools = planTools(request, { facts, format, search, marks, losses, room });
  const { system, turns } = yield* arrangeTurns(request, facts.systemTurns, losses);
  const { isForced } = tools;
  const { isOn, maxTokens, ...thinking } = planThinking(
    request,
    facts,
    { limit, isForced, turns },
    losses,
  );
  const instructions = [format.instruction, tools.instruction].filter((one) => one !== undefined);
  const body = {
    model: target.model,
    max_tokens: maxTokens,
    ...tools.fields,
    ...writeSystem(system, instructions, marks),
    messages: yield* writeTurns(turns, { aliasOf: tools.aliasOf, marks, losses }),
    ...writeOutputConfig(thinking.effort, format.native),
    ...(thinking.thinking ? { thinking: thinking.thinking } : {}),
    ...writeSettings(request, facts, isOn, losses),
    ...(request.stream ? { stream: true } : {}),
  };
  const isOnItsOwn = tools.isStub && hasJustUsedTools(request);
  if (marks.isEmpty && target.autoCache && !isOnItsOwn) {
    yield* setMarks(cachedPart(request, body), facts.minCacheableTokens);
  }
  yield* marks.enforce(losses);
  return {
    body,
    losses,
    emulations: {
      toolNames: tools.toolNames,
      customTools: tools.customTools,
      jsonTool: tools.jsonTool,
      jsonUnwrap: format.tool?.unwrap,
      stripFence: format.stripFence,
    },
  };
}

/**
 * Returns the web search to send. For a summary it stays among the tools, although `tool_choice`
 * forbids calling it: the vendor's cached prompts begin with the tools.
 */
function searchToSend(
  request: CanonicalRequest,
  target: Target,
  facts: ModelFacts,
  losses: Loss[],
): WebSearch | undefined {
  if (!request.asksForSummary) return searchFor(request, target, losses, facts.webSearch);
  return target.webSearch !== undefined && facts.webSearch ? request.webSearch : undefined;
}

/**
 * Returns the part of a prompt that is worth caching. In a request for a summary with tools the
 * messages aren't: its `tool_choice` differs from that of the calls before, so the vendor finds
 * none of the messages in its cache, and the next request begins with the summary.
 */
function cachedPart<Body extends { tools?: unknown; messages: Record<string, unknown>[] }>(
  { asksForSummary }: CanonicalRequest,
  body: Body,
): Body {
  return asksForSummary && body.tools ? { ...body, messages: [] } : body;
}

/**
 * Whether tools were used for the last answer, or since. A request that offers none then begins
 * unlike the calls before it, and mostly unlike those after it, too: agents that summarize their
 * session by themselves ask so. If another answer follows, calls without tools are a conversation.
 */
function hasJustUsedTools({ turns }: CanonicalRequest): boolean {
  const used = turns.findLastIndex(({ parts }) => parts.some(({ type }) => type === "tool-result"));
  return used >= 0 && turns.slice(used).filter(({ role }) => role === "assistant").length <= 1;
}

function writeSystem(
  texts: readonly SystemText[],
  instructions: readonly string[],
  marks: CacheMarks,
): Record<string, unknown> {
  const system = [
    ...texts.map((text) => marks.mark({ type: "text", text: text.text }, text)),
    ...instructions.map((text) => ({ type: "text", text })),
  ];
  return system.length === 0 ? {} : { system };
}

function writeOutputConfig(effort: string | undefined, format: unknown): Record<string, unknown> {
  if (effort === undefined && format === undefined) return {};
  return {
    output_config: {
      ...(effort === undefined ? {} : { effort }),
      ...(format === undefined ? {} : { format }),
    },
  };
}

import { atOnce, type Steps } from "../../../base/steps.ts";
import { SchemaBudget } from "../../kernel/schema_refs.ts";
import type { CanonicalRequest, Loss, SystemText } from "../../kernel/canonical_request.ts";
import type { EncodedRequest, Target } from "../../kernel/dialect.ts";
import { searchFor } from "../../kernel/web_search.ts";
import { arrangeTurns } from "./request/arrange_turns.ts";
import { CacheMarks, setMarks } from "./request/cache_marks.ts";
import { planFormat } from "./request/encode_format.ts";
import { writeSettings } from "./request/encode_settings.ts";
import { planThinking } from "./request/encode_thinking.ts";
import { planTools } from "./request/encode_tools.ts";
import { writeTurns } from "./request/encode_turns.ts";
import { modelFacts } from "./models.ts";
import { loseSettings } from "../../kernel/setting_losses.ts";

/**
 * Writes a request for a vendor of this dialect, version 2023-06-01, with the fields that the model
 * accepts, since others are refused; what can't be carried is listed as a loss.
 */
export const encodeRequest = atOnce(encodeRequestSteps);

export function* encodeRequestSteps(
  request: CanonicalRequest,
  target: Target,
): Steps<EncodedRequest> {
  const losses: Loss[] = request.unsupported.map(({ path, weight }) => ({ path, weight }));
  loseSettings(request, ["promptCacheKey"], losses);
  const facts = modelFacts(target.model);
  const limit = target.maxOutputTokens ?? facts.maxOutputTokens;
  const marks = new CacheMarks();
  const room = new SchemaBudget();
  const format = planFormat(request, facts, losses, room);
  const search = searchFor(request, target, losses, facts.webSearch);
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
  if (marks.isEmpty && target.autoCache) yield* setMarks(body, facts.leastCached);
  marks.enforce(losses);
  return {
    body,
    losses,
    reversal: {
      toolNames: tools.toolNames,
      customTools: tools.customTools,
      jsonTool: tools.jsonTool,
      jsonUnwrap: format.tool?.unwrap,
      stripFence: format.stripFence,
    },
  };
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

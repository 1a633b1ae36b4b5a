import type { Steps } from "../../../base/steps.ts";
import type { CanonicalRequest, OutputFormat, Reasoning } from "../../kernel/canonical_request.ts";
import { customAsFunctions } from "../../kernel/custom_tool.ts";
import { defined } from "../../../base/defined.ts";
import { formatSchema } from "../../kernel/format_schema.ts";
import { effortOf } from "../../kernel/reasoning.ts";
import { withoutRefused } from "../../kernel/refused_settings.ts";
import { aliasToolNames, plainToolName, toolNamesOf } from "../../kernel/tool_names.ts";
import { searchFor } from "../../kernel/web_search.ts";
import { Breakpoints } from "../../kernel/breakpoints.ts";
import { type EncodedRequest, noEmulations, type Target } from "../../kernel/dialect.ts";
import { writeItems } from "./request/encode_items.ts";
import { writeTools } from "./request/encode_tools.ts";
import { cacheSettings, loseSettings } from "../../kernel/setting_losses.ts";

/** The smallest output limit that the dialect accepts. */
const minOutputTokens = 16;

/**
 * Writes a request for a vendor of this dialect. The callers' dialects have no state: the vendor
 * stores nothing, and reasoning is requested sealed, so that it can be sent back.
 */
export function* encodeRequest(
  asked: CanonicalRequest,
  target: Target,
): Steps<EncodedRequest> {
  const { request: allowed, losses } = withoutRefused(asked, target);
  const { request, customTools } = yield* customAsFunctions(allowed, target.quirks);
  for (const { path, weight } of request.unsupported) losses.push({ path, weight });
  const takesAll = target.cacheSettings === "all";
  loseSettings(request, takesAll ? lost : [...lost, ...cacheSettings], losses);
  const search = searchFor(request, target, losses);
  const marks = new Breakpoints(request, target, losses);
  const { aliasOf, toolNames } = aliasToolNames(
    yield* toolNamesOf(request),
    plainToolName,
    target.quirks?.reservedTool,
  );
  const include = [
    "reasoning.encrypted_content",
    ...(request.logprobs ? ["message.output_text.logprobs"] : []),
    ...(search ? ["web_search_call.action.sources"] : []),
  ];
  const { unwrap: jsonUnwrap, ...answer } = formatSchema(request, losses);
  const body: Record<string, unknown> = {
    model: target.model,
    input: yield* writeItems(request, { aliasOf, marks, losses }),
    store: false,
    include,
    ...defined({
      max_output_tokens: request.maxOutputTokens === undefined
        ? undefined
        : Math.max(minOutputTokens, request.maxOutputTokens),
      temperature: request.temperature,
      top_p: request.topP,
      top_logprobs: request.logprobs?.top || undefined,
      text: writeText(request, answer),
      reasoning: writeReasoning(request.reasoning),
      user: request.user,
      service_tier: request.serviceTier,
      metadata: request.metadata,
      prompt_cache_key: marks.key(),
      prompt_cache_options: takesAll ? request.promptCacheOptions : undefined,
      prompt_cache_retention: takesAll ? request.promptCacheRetention : undefined,
    }),
    ...writeTools(request, search, aliasOf, losses),
    ...(request.stream ? { stream: true } : {}),
  };
  return { body, losses, emulations: { ...noEmulations, toolNames, customTools, jsonUnwrap } };
}

/** Settings without a field in this dialect. */
const lost = [
  "topK",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "stop",
  "choices",
  "logitBias",
  "modalities",
] as const;

type Answer = Pick<ReturnType<typeof formatSchema>, "schema" | "strict">;

function writeText({ format, verbosity }: CanonicalRequest, answer: Answer): unknown {
  if (format === undefined && verbosity === undefined) return undefined;
  return defined({ format: writeFormat(format, answer), verbosity });
}

function writeFormat(format: OutputFormat | undefined, answer: Answer): unknown {
  if (format === undefined || format.type === "text") return format;
  if (format.type === "json") return { type: "json_object" };
  const { name, description } = format;
  return { type: "json_schema", name, ...defined({ ...answer, description }) };
}

function writeReasoning(reasoning: Reasoning | undefined): unknown {
  if (!reasoning) return undefined;
  const fields = defined({
    effort: effortOf(reasoning),
    summary: reasoning.show === true ? "auto" : undefined,
  });
  return Object.keys(fields).length === 0 ? undefined : fields;
}

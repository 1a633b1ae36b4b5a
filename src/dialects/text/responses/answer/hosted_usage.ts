import { shortKey } from "../../../../base/hash.ts";
import { estimateTokens } from "../../../../shared/token_estimate.ts";
import type { CountedWork, HostedCounts, Usage } from "../../../../shared/usage.ts";
import { optionalField } from "../../../kernel/fields.ts";
import {
  asRecord,
  asString,
  count,
  isRecord,
  type JsonRecord,
  recordsIn,
} from "../../../kernel/json.ts";
import { sumOfKnown } from "../../../kernel/reported_tokens.ts";
import { defaultImageModel } from "../hosted.ts";
import { isSearchOfX } from "../request/offered_tools.ts";

/**
 * Counts vendor-side work: by the vendor's own counts (`tool_usage`; xAI's
 * `server_side_tool_usage_details`, docs.x.ai "Tools"), or else by the output items.
 */
export function readHostedUsage(response: JsonRecord, raw: JsonRecord): HostedCounts {
  const output = recordsIn(response.output);
  const tools = asRecord(response.tool_usage);
  const searches = count(asRecord(tools.web_search).num_requests);
  const details = asRecord(raw.server_side_tool_usage_details);
  const ofType = (...types: string[]) => output.filter((one) => types.includes(String(one.type)));
  const xSearches = ofType("x_search_call").length + output.filter(isSearchOfX).length;
  return {
    ...named(
      "webSearches",
      searches ?? count(details.web_search_calls) ?? output.filter(isSearch).length,
    ),
    ...named("xSearches", count(details.x_search_calls) ?? xSearches),
    ...named(
      "fileSearches",
      sumOfKnown(count(details.file_search_calls), count(details.document_search_calls)) ??
        ofType("file_search_call").length,
    ),
    ...named("codeSessions", count(details.code_interpreter_calls) ?? containers(output)),
  };
}

/** Counts vendor-side work in an answer without usage by its items. */
export function countItems(work: readonly unknown[]): CountedWork {
  const written = recordsIn(work).flatMap(writtenIn).filter((one) => typeof one === "string");
  return {
    ...readHostedUsage({ output: work }, {}),
    ...named("writtenTokens", estimateTokens(written.join("\n"))),
  };
}

/** Returns what the model wrote in an item, beside results and values that aren't text. */
function writtenIn({ operation, action, code, arguments: input }: JsonRecord): unknown[] {
  const { commands, command, queries, query } = asRecord(action);
  return [asRecord(operation).diff, commands, command, queries, query, code, input].flat();
}

/** Whether an item is a web search; opening a page isn't one. */
function isSearch(item: JsonRecord): boolean {
  if (item.type !== "web_search_call") return false;
  const action = asRecord(item.action).type;
  return action === undefined || action === "search";
}

/** Returns the number of distinct containers that code ran in; runs that name none count as one. */
function containers(output: readonly JsonRecord[]): number {
  const runs = output.filter(({ type, environment }) =>
    type === "code_interpreter_call" ||
    // Any other shell runs on the caller's machine.
    (type === "shell_call" && asRecord(environment).type === "container_reference")
  );
  const ids = runs.map((run) =>
    asString(run.container_id) ?? asString(asRecord(run.environment).container_id)
  );
  return new Set(ids.map((id) => id && shortKey(id))).size;
}

/**
 * Reads the tokens of the image tool, which `usage` excludes, and the model that generated the
 * images: the answer repeats its tools with the settings that applied.
 */
export function imageToolUsage(response: JsonRecord): { model: string; usage: Usage }[] {
  const images = asRecord(response.tool_usage).image_gen;
  if (!isRecord(images)) return [];
  const input = count(images.input_tokens) ?? 0;
  const output = count(images.output_tokens) ?? 0;
  if (input === 0 && output === 0) return [];
  const tool = recordsIn(response.tools).find(({ type }) => type === "image_generation") ?? {};
  const inputDetails = asRecord(images.input_tokens_details);
  const cachedDetails = asRecord(images.cached_tokens_details);
  const outputDetails = asRecord(images.output_tokens_details);
  return [{
    model: asString(tool.model) ?? defaultImageModel,
    usage: {
      input,
      output,
      ...named("cacheRead", count(images.cached_tokens) ?? 0),
      ...named("imageInput", count(inputDetails.image_tokens) ?? 0),
      ...named("cachedImageInput", count(cachedDetails.cached_image_tokens) ?? 0),
      // Without details all output counts as images.
      imageOutput: count(outputDetails.image_tokens) ?? output,
    },
  }];
}

/** Reads the tokens of the models that wrote SVGs from the tool's images. */
export function svgAuthors({ output }: JsonRecord): { model: string; usage: Usage }[] {
  return recordsIn(output).flatMap(({ type, svg_usage: svg }) => {
    const model = isRecord(svg) ? asString(svg.model) : undefined;
    if (type !== "image_generation_call" || !isRecord(svg) || model === undefined) return [];
    const usage = {
      input: count(svg.input_tokens) ?? 0,
      output: count(svg.output_tokens) ?? 0,
      ...named("reasoning", count(svg.reasoning_tokens) ?? 0),
    };
    return [{ model, usage }];
  });
}

function named<K extends string>(key: K, value: number): { [P in K]?: number } {
  return optionalField(key, value || undefined);
}

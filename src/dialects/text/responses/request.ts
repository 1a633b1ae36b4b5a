import { Fault } from "../../../shared/fault.ts";
import { mergeTags, type PromptTags, readTags } from "../../../shared/prompt_tags.ts";
import type { RequestFacts } from "../../kernel/dialect.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";

type Path = (string | number)[];

/** What the gateway must know of a responses request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  return {
    model: String(request.model),
    stream: request.stream === true,
    // Usage always comes with the terminal event: there is nothing to ask for.
    wantsStreamUsage: true,
    endUser: asString(request.safety_identifier) ?? asString(request.user),
    maxOutputTokens: typeof request.max_output_tokens === "number"
      ? request.max_output_tokens
      : undefined,
    choices: 1,
    serviceTier: asString(request.service_tier),
    ...readTagBlocks(request),
  };
}

/**
 * Tag lines of the first system or developer text, which `instructions` is where there are any,
 * and of the first user text (translation.md §15); the first value of each tag wins.
 */
function readTagBlocks(request: JsonRecord): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const path of [systemPath(request), userPath(request)]) {
    if (!path) continue;
    const text = textAt(request, path);
    const block = readTags(text, formatPath(path));
    if (block.length === 0) continue;
    if (block.length === text.length) {
      throw new Fault("invalid_value", {
        param: formatPath(path),
        message: `${formatPath(path)}: the prompt holds nothing but tag lines.`,
      });
    }
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path, units: block.length });
  }
  return { tags, tagBlocks };
}

function systemPath(request: JsonRecord): Path | undefined {
  if (asString(request.instructions) !== undefined) return ["instructions"];
  return messagePath(request.input, (role) => role === "system" || role === "developer");
}

function userPath(request: JsonRecord): Path | undefined {
  if (typeof request.input === "string") return ["input"];
  return messagePath(request.input, (role) => role === "user");
}

/** Path of the first text of the first message that a role of this kind speaks. */
function messagePath(input: unknown, speaks: (role: unknown) => boolean): Path | undefined {
  if (!Array.isArray(input)) return undefined;
  const at = input.findIndex((item) => isRecord(item) && isMessage(item) && speaks(item.role));
  const item: unknown = input[at];
  if (!isRecord(item)) return undefined;
  if (typeof item.content === "string") return ["input", at, "content"];
  if (!Array.isArray(item.content)) return undefined;
  const index = item.content.findIndex((part) => isRecord(part) && typeof part.text === "string");
  return index < 0 ? undefined : ["input", at, "content", index, "text"];
}

function isMessage(item: JsonRecord): boolean {
  return item.type === undefined || item.type === null || item.type === "message";
}

function textAt(request: JsonRecord, path: readonly (string | number)[]): string {
  let value: unknown = request;
  for (const step of path) value = (value as Record<string | number, unknown>)[step];
  return value as string;
}

/** `["input", 0, "content"]` as `input[0].content`. */
function formatPath(path: readonly (string | number)[]): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}

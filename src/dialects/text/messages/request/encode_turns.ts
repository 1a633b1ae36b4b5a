import { mapInSteps, type Steps } from "../../../../base/steps.ts";
import type {
  Loss,
  Part,
  ReasoningPart,
  ToolResultPart,
} from "../../../kernel/canonical_request.ts";
import { callArguments } from "../../../kernel/call_arguments.ts";
import { innerJson } from "../../../kernel/json.ts";
import type { ArrangedTurn } from "./arrange_turns.ts";
import type { CacheMarks } from "./cache_marks.ts";
import { type CallIds, pairCalls } from "./call_ids.ts";
import { leaveOut, writeMedia } from "./encode_media.ts";

type Block = Record<string, unknown>;

export interface TurnContext {
  aliasOf: (name: string) => string;
  marks: CacheMarks;
  losses: Loss[];
}

export function* writeTurns(turns: readonly ArrangedTurn[], context: TurnContext): Steps<Block[]> {
  const ids = yield* pairCalls(turns);
  const messages: Block[] = [];
  for (const { role, parts } of turns) {
    yield;
    const content = yield* mapInSteps(
      parts,
      (part) =>
        role === "assistant" && part.type === "media"
          ? leaveOut(part, context.losses)
          : writePart(part, ids, context),
      // The arguments of calls take milliseconds to parse.
      role === "assistant" ? 1 : undefined,
    );
    messages.push({ role, content });
  }
  return messages;
}

/** Writes a part. `ids` is undefined inside results, which hold no calls. */
function writePart(part: Part, ids: CallIds | undefined, context: TurnContext): Block {
  switch (part.type) {
    case "text":
      return context.marks.mark({ type: "text", text: part.text }, part);
    case "refusal":
      return { type: "text", text: part.text };
    case "media":
      return context.marks.mark(writeMedia(part, context.losses), part);
    case "tool-call":
      return context.marks.mark({
        type: "tool_use",
        id: ids?.get(part),
        name: context.aliasOf(part.name),
        input: callArguments(part),
      }, part);
    case "tool-result":
      return writeResult(part, ids, context);
    case "reasoning":
      return writeReasoning(part);
  }
}

function writeReasoning(part: ReasoningPart): Block {
  // The vendor's own search, made between its thoughts.
  if (part.opaque?.kind === "block") return innerJson(part.opaque.value) as Block;
  return part.opaque?.kind === "redacted"
    ? { type: "redacted_thinking", data: part.opaque.value }
    : { type: "thinking", thinking: part.text, signature: part.opaque?.value ?? "" };
}

function writeResult(
  result: ToolResultPart,
  ids: CallIds | undefined,
  context: TurnContext,
): Block {
  const content = writeResultContent(result, context);
  const block = {
    type: "tool_result",
    tool_use_id: ids?.get(result),
    ...(content === undefined ? {} : { content }),
    ...(result.isError ? { is_error: true } : {}),
  };
  return context.marks.mark(block, result);
}

function writeResultContent(result: ToolResultPart, context: TurnContext): unknown {
  const parts = result.parts.filter((part) => part.type !== "text" || part.text !== "");
  const [only] = parts;
  if (only === undefined) return undefined;
  if (parts.length === 1 && only.type === "text" && !only.cache) return only.text;
  return parts.map((part) => writePart(part, undefined, context));
}

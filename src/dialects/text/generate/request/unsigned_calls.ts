import {
  type Edit,
  insertMember,
  itemsAt,
  locateIn,
  type Members,
  membersAt,
  type TextRange,
} from "../../../../base/json_text.ts";
import type { Steps } from "../../../../base/steps.ts";
import type { UnsignedThinking } from "../../../kernel/dialect.ts";
import { asList, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { signatureSentinel } from "../../../kernel/reasoning.ts";
import { modelTraits } from "../models.ts";
import { camelCase, Fields } from "./fields.ts";

/**
 * Returns the calls that lack a signature. Callers get other vendors' calls without one and send
 * them back with the conversation. Models that require signatures refuse the whole request for
 * them, so that one turn answered by a fallback would end the conversation. Only a turn's first
 * call is signed.
 */
export function unsignedCalls(body: unknown, model: string): UnsignedThinking | undefined {
  if (!modelTraits(model).signatures) return undefined;
  const blocks = new Map<number, Set<number>>();
  for (const [index, content] of asList((body as JsonRecord).contents).entries()) {
    if (!isRecord(content) || content.role !== "model") continue;
    const parts = asList(content.parts);
    const first = parts.findIndex(isCall);
    if (first >= 0 && !isSigned(parts[first])) blocks.set(index, new Set([first]));
  }
  return blocks.size === 0 ? undefined : { blocks, switchesOff: false };
}

function isCall(part: unknown): boolean {
  return isRecord(part) && isRecord(new Fields(part, "").value("functionCall"));
}

const signature = "thoughtSignature";

function isSigned(part: unknown): boolean {
  return isRecord(part) && Boolean(new Fields(part, "").value(signature));
}

/** Returns the edits that give the calls the placeholder. */
export function* placeholderEdits(
  bodyText: string,
  members: Members,
  { blocks }: UnsignedThinking,
): Steps<Edit[]> {
  const contents = yield* rangesOf(bodyText, locateIn(bodyText, members, ["contents"]));
  const edits: Edit[] = [];
  for (const [index, calls] of blocks) {
    const content = contents[index] && membersAt(bodyText, contents[index].start);
    const list = content?.members.get("parts");
    const range = list && { start: list.valueStart, end: list.valueEnd };
    const parts = yield* rangesOf(bodyText, range);
    for (const at of calls) if (parts[at]) edits.push(placeholder(bodyText, parts[at]));
  }
  return edits;
}

/** Returns the ranges of a list's elements; a single object counts as a list of one. */
function* rangesOf(bodyText: string, range: TextRange | undefined): Steps<TextRange[]> {
  if (range === undefined) return [];
  return bodyText[range.start] === "[" ? yield* itemsAt(bodyText, range) : [range];
}

function placeholder(bodyText: string, part: TextRange): Edit {
  const text = JSON.stringify(signatureSentinel);
  const members = membersAt(bodyText, part.start)?.members.values() ?? [];
  const empty = [...members].find(({ key }) => camelCase(key) === signature);
  return empty
    ? { start: empty.valueStart, end: empty.valueEnd, text }
    : insertMember(bodyText, part, signature, text);
}

import {
  type Edit,
  insertMember,
  itemsAt,
  locateIn,
  type Members,
  membersAt,
  type TextRange,
} from "../../../../base/json_text.ts";
import { forEachInSteps, mapInSteps, type Steps } from "../../../../base/steps.ts";
import type { UnsignedThinking } from "../../../kernel/dialect.ts";
import { asList, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { signatureSentinel } from "../../../kernel/reasoning.ts";
import { markedCallId } from "./call_mark.ts";
import { modelTraits } from "../models.ts";
import { camelCase, Fields } from "./fields.ts";

/**
 * Returns the calls that Google didn't sign and would refuse. Callers get other vendors' calls with
 * a mark of ours and send them back with the conversation. Models that require signatures refuse
 * the whole request for a turn whose first call has none, so that one turn answered by a fallback
 * would end the conversation.
 */
export function* unsignedCalls(
  body: unknown,
  model: string,
): Steps<UnsignedThinking | undefined> {
  const isRequired = modelTraits(model).signatures;
  const blocks = new Map<number, Set<number>>();
  const marked = new Map<number, Set<number>>();
  for (const [index, content] of asList((body as JsonRecord).contents).entries()) {
    yield;
    if (!isRecord(content) || content.role !== "model") continue;
    const parts = asList(content.parts);
    const first = yield* firstCall(parts);
    const signatures = yield* mapInSteps(parts, signatureIn);
    const ours = new Set<number>();
    yield* forEachInSteps(signatures, (value, at) => {
      if (markedCallId(value) !== undefined) ours.add(at);
    });
    if (ours.size > 0) marked.set(index, ours);
    const isMissing = isRequired && signatures[first] === "";
    if (ours.size > 0 || isMissing) blocks.set(index, isMissing ? new Set([...ours, first]) : ours);
  }
  if (blocks.size === 0) return undefined;
  return { blocks, switchesOff: false, ...(marked.size > 0 ? { marked } : {}) };
}

/** The index of the first call; -1 if there is none. */
function* firstCall(parts: readonly unknown[]): Steps<number> {
  for (let at = 0; at < parts.length; at++) {
    if (isCall(parts[at])) return at;
    if (at % 16 === 15) yield;
  }
  return -1;
}

function isCall(part: unknown): boolean {
  return isRecord(part) && isRecord(new Fields(part, "").value("functionCall"));
}

const signature = "thoughtSignature";

function signatureIn(part: unknown): string {
  const value = isRecord(part) ? new Fields(part, "").value(signature) : undefined;
  return typeof value === "string" ? value : "";
}

/** Returns the edits that give the calls the placeholder, or none to models that don't need it. */
export function* placeholderEdits(
  bodyText: string,
  members: Members,
  { blocks }: UnsignedThinking,
  model: string,
): Steps<Edit[]> {
  const text = JSON.stringify(modelTraits(model).signatures ? signatureSentinel : "");
  const contents = yield* rangesOf(bodyText, locateIn(bodyText, members, ["contents"]));
  const edits: Edit[] = [];
  for (const [index, calls] of blocks) {
    const content = contents[index] && membersAt(bodyText, contents[index].start);
    const list = content?.members.get("parts");
    const range = list && { start: list.valueStart, end: list.valueEnd };
    const parts = yield* rangesOf(bodyText, range);
    for (const at of calls) if (parts[at]) edits.push(signed(bodyText, parts[at], text));
  }
  return edits;
}

/** Returns the ranges of a list's elements; a single object counts as a list of one. */
function* rangesOf(bodyText: string, range: TextRange | undefined): Steps<TextRange[]> {
  if (range === undefined) return [];
  return bodyText[range.start] === "[" ? yield* itemsAt(bodyText, range) : [range];
}

function signed(bodyText: string, part: TextRange, text: string): Edit {
  const members = membersAt(bodyText, part.start)?.members.values() ?? [];
  const own = [...members].find(({ key }) => camelCase(key) === signature);
  return own
    ? { start: own.valueStart, end: own.valueEnd, text }
    : insertMember(bodyText, part, signature, text);
}

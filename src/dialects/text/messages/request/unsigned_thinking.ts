import {
  changeMembersSteps,
  type Edit,
  itemsAt,
  locateInSteps,
  type Members,
  membersAtSteps,
  removeItems,
} from "../../../../base/json_text.ts";
import { pushAll } from "../../../../base/lists.ts";
import { flatMapInSteps, forEachInSteps, type Steps } from "../../../../base/steps.ts";
import type { UnsignedThinking } from "../../../kernel/dialect.ts";
import { summaryText } from "../../../kernel/summary.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { toolChangesIn } from "./decode_tools.ts";
import { citesUnsealed } from "../answer/citation.ts";
import { unsealedSearches } from "../answer/search_blocks.ts";

/**
 * Returns the blocks that lack a signature or seal. Callers get other vendors' thinking without a
 * signature, and their searches and sources without a seal, and send them back with the
 * conversation. A vendor that signs its own refuses the whole request for them, so that one turn
 * answered by a fallback would end the conversation.
 */
export function* unsignedThinking(body: unknown): Steps<UnsignedThinking | undefined> {
  const { messages, thinking } = body as JsonRecord;
  if (!Array.isArray(messages)) return undefined;
  const blocks = new Map<number, Set<number>>();
  const cited = new Map<number, Set<number>>();
  let summary: UnsignedThinking["summary"];
  let last: unknown[] = [];
  for (const [index, message] of messages.entries()) {
    yield;
    if (!isRecord(message) || message.role !== "assistant") continue;
    if (!Array.isArray(message.content)) {
      last = [];
      continue;
    }
    const { content } = message;
    const text = unsignedSummary(content);
    if (text !== undefined) {
      summary = { index, text, toolChanges: toolChangesIn(message) };
      blocks.clear();
      cited.clear();
    }
    const unsigned = yield* unsealedSearches(content);
    const texts = new Set<number>();
    yield* forEachInSteps(content, (block, at) => {
      if (isUnsigned(block)) unsigned.add(at);
      // A text without words is nothing without its sources.
      else if (citesUnsealed(block)) (asRecord(block).text === "" ? unsigned : texts).add(at);
    });
    if (unsigned.size > 0) blocks.set(index, unsigned);
    if (texts.size > 0) cited.set(index, texts);
    last = unsigned.size === 0
      ? content
      : yield* flatMapInSteps(content, (block, at) => unsigned.has(at) ? [] : [block]);
  }
  if (blocks.size === 0 && cited.size === 0 && summary === undefined) return undefined;
  const isOn = isRecord(thinking) && thinking.type === "enabled";
  const switchesOff = blocks.size > 0 && isOn && callsWithoutThinking(last);
  return { blocks, cited, ...(summary ? { summary } : {}), switchesOff };
}

/** Returns the summary in an answer that is nothing but one of ours. */
function unsignedSummary(content: readonly unknown[]): string | undefined {
  const { type, signature, content: summary } = asRecord(content[0]);
  const isOurs = content.length === 1 && type === "compaction" && signature === "";
  return isOurs ? asString(summary) : undefined;
}

function isUnsigned(block: unknown): boolean {
  return isRecord(block) && block.type === "thinking" && block.signature === "";
}

export function callsWithoutThinking(content: readonly unknown[]): boolean {
  const types = content.map((block) => asRecord(block).type);
  return types.includes("tool_use") && !String(types[0]).endsWith("thinking");
}

/**
 * Returns the edits that remove the blocks, messages that consist of nothing else, and the sources
 * of the texts, that make the summary a message of the user, the first one, and that switch thinking
 * off if necessary.
 */
export function* unsignedEdits(
  bodyText: string,
  members: Members,
  { blocks, cited = new Map(), summary, switchesOff }: UnsignedThinking,
): Steps<Edit[]> {
  const list = yield* locateInSteps(bodyText, members, ["messages"]);
  if (list === undefined) return [];
  const messages = yield* itemsAt(bodyText, list);
  const edits: Edit[] = [];
  const empty = new Set<number>();
  let read = 0;
  for (const index of new Set([...blocks.keys(), ...cited.keys()])) {
    if (++read % readEach === 0) yield;
    const message = yield* membersAtSteps(bodyText, messages[index]!.start);
    const content = message?.members.get("content");
    if (content === undefined) continue;
    const range = { start: content.valueStart, end: content.valueEnd };
    const items = yield* itemsAt(bodyText, range);
    const unsigned = blocks.get(index) ?? new Set();
    if (unsigned.size === items.length) empty.add(index);
    else pushAll(edits, yield* removeItems(items, (at) => unsigned.has(at)));
    for (const at of cited.get(index) ?? []) {
      pushAll(edits, yield* changeMembersSteps(bodyText, items[at]!, { remove: ["citations"] }));
      if (++read % readEach === 0) yield;
    }
  }
  if (summary) {
    const content = summaryText(summary.text);
    const { toolChanges = [] } = summary;
    const turns: JsonRecord[] = [{ role: "user", content }];
    if (toolChanges.length > 0) turns.push({ role: "system", content: toolChanges });
    const text = turns.map((turn) => JSON.stringify(turn)).join(",");
    edits.push({ ...messages[summary.index]!, text });
  }
  const first = summary?.index ?? 0;
  pushAll(edits, yield* removeItems(messages, (at) => at < first || empty.has(at)));
  const thinking = switchesOff && (yield* locateInSteps(bodyText, members, ["thinking"]));
  if (thinking) edits.push({ ...thinking, text: '{"type":"disabled"}' });
  return edits;
}

/** Messages and texts that are read in a step. */
const readEach = 256;

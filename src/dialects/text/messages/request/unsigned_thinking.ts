import {
  type Edit,
  itemsAt,
  locateIn,
  type Members,
  membersAt,
  removeItems,
} from "../../../../base/json_text.ts";
import { pushAll } from "../../../../base/lists.ts";
import type { Steps } from "../../../../base/steps.ts";
import type { UnsignedThinking } from "../../../kernel/dialect.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";

/**
 * Callers are shown other vendors' thinking without a signature and send it back with the
 * conversation. A vendor that signs its own refuses the whole request for it, so that one turn of a
 * fallback would end the conversation.
 */
export function unsignedThinking(body: unknown): UnsignedThinking | undefined {
  const { messages, thinking } = body as JsonRecord;
  if (!Array.isArray(messages)) return undefined;
  const blocks = new Map<number, Set<number>>();
  let last: unknown[] = [];
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message) || message.role !== "assistant") continue;
    if (!Array.isArray(message.content)) {
      last = [];
      continue;
    }
    const { content } = message;
    const unsigned = content.flatMap((block, at) => isUnsigned(block) ? [at] : []);
    if (unsigned.length > 0) blocks.set(index, new Set(unsigned));
    last = unsigned.length === 0 ? content : content.filter((block) => !isUnsigned(block));
  }
  if (blocks.size === 0) return undefined;
  const isOn = isRecord(thinking) && thinking.type === "enabled";
  return { blocks, switchesOff: isOn && callsWithoutThinking(last) };
}

function isUnsigned(block: unknown): boolean {
  return isRecord(block) && block.type === "thinking" && block.signature === "";
}

function callsWithoutThinking(content: readonly unknown[]): boolean {
  const types = content.map((block) => isRecord(block) ? block.type : undefined);
  return types.includes("tool_use") && !String(types[0]).endsWith("thinking");
}

/** Removes the blocks, and messages that consist of nothing else. */
export function* unsignedEdits(
  bodyText: string,
  members: Members,
  { blocks, switchesOff }: UnsignedThinking,
): Steps<Edit[]> {
  const list = locateIn(bodyText, members, ["messages"]);
  if (list === undefined) return [];
  const messages = yield* itemsAt(bodyText, list);
  const edits: Edit[] = [];
  const empty = new Set<number>();
  for (const [index, unsigned] of blocks) {
    const content = membersAt(bodyText, messages[index]!.start)?.members.get("content");
    if (content === undefined) continue;
    const range = { start: content.valueStart, end: content.valueEnd };
    const items = yield* itemsAt(bodyText, range);
    if (unsigned.size === items.length) empty.add(index);
    else pushAll(edits, removeItems(items, items.map((_, at) => unsigned.has(at))));
  }
  pushAll(edits, removeItems(messages, messages.map((_, index) => empty.has(index))));
  const thinking = switchesOff && locateIn(bodyText, members, ["thinking"]);
  if (thinking) edits.push({ ...thinking, text: '{"type":"disabled"}' });
  return edits;
}

import { invalidValue } from "../../../../shared/fault.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";

/** An input or output item in this dialect's words. */
export type Item = JsonRecord;

/**
 * Returns the input of a request as items; a string is one user message. Empty if it is neither.
 */
export function inputItems(body: unknown): Item[] {
  const input = asRecord(body).input;
  if (typeof input === "string") {
    return [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }];
  }
  return recordsIn(input);
}

/**
 * Returns the request with the conversation before it: `stored`, oldest first, then its own input,
 * and no `previous_response_id`. Instructions, tools and settings of earlier turns don't carry
 * over. References to items of these turns are resolved; others stay for the gateway's store, or
 * are refused when the request is decoded.
 */
export function continueFrom(stored: readonly Item[], body: JsonRecord): JsonRecord {
  const earlier = withoutCutReasoning(withoutUnsealedReasoning(sinceSummary(stored)));
  const earlierIds = new Set(earlier.map((item) => asString(item.id)));
  // An item that is referred to is in the conversation already.
  const own = inputItems(body).filter((item) => {
    const id = referenceOf(item);
    return id === undefined || !earlierIds.has(id);
  });
  const { previous_response_id: _, ...rest } = body;
  return { ...rest, input: [...earlier, ...own] };
}

/**
 * Returns the items without those that a `compaction` replaces, up to the `compaction_trigger` that
 * asked for it. A summary has no tools: those that earlier items add stay. Other triggers, which
 * got no `compaction`, are left out as well.
 */
export function sinceSummary<One extends Typed>(items: readonly One[]): One[] {
  const start = summaryStart(items);
  return items.filter((item, index) =>
    index < start ? item.type === "additional_tools" : !isTrigger(item)
  );
}

interface Typed {
  readonly type?: unknown;
}

/** Returns the index of the first item that no summary replaces. */
export function summaryStart(items: readonly Typed[]): number {
  const summary = items.findLastIndex(({ type }) => type === "compaction");
  return items.findLastIndex((item, index) => index < summary && isTrigger(item)) + 1;
}

function isTrigger({ type }: Typed): boolean {
  return type === "compaction_trigger";
}

/**
 * Returns the items, with each reference replaced by the item that `find` returns for its id.
 * References in a row to one item are one: the AI SDK writes a reference for each of its texts.
 */
export function resolveReferences(
  items: readonly Item[],
  find: (id: string) => Item | undefined,
): Item[] {
  const seen = new Set<string>();
  let last: string | undefined;
  return items.flatMap((item) => {
    const id = referenceOf(item);
    const isRepeated = id !== undefined && id === last;
    last = id;
    if (isRepeated) return [];
    // A reference is short and its item long: repeated references would multiply the request.
    if (id !== undefined && seen.has(id)) {
      throw invalidValue("input", `the item '${id.slice(0, 100)}' is referred to twice`);
    }
    if (id !== undefined) seen.add(id);
    return [(id === undefined ? undefined : find(id)) ?? item];
  });
}

/** Returns the id that a reference names; undefined for any other item. */
export function referenceOf(item: Item): string | undefined {
  const isReference = item.type === "item_reference" ||
    ((item.type === undefined || item.type === null) && item.role === undefined);
  return isReference ? asString(item.id) : undefined;
}

/**
 * Returns the ids of reasoning that isn't sealed: only the vendor's own state could resolve them.
 */
export function unsealedIds(items: unknown): string[] {
  if (!Array.isArray(items)) return [];
  return items.filter(isUnsealed).flatMap(({ id }) => asString(id) ?? []);
}

/** Returns the items with their reasoning sealed, as `find` returns it for an id. */
export function sealItems(
  items: readonly unknown[],
  find: (id: string) => string | undefined,
): unknown[] {
  return items.map((item: unknown) => {
    const id = isUnsealed(item) ? asString(item.id) : undefined;
    const sealed = id === undefined ? undefined : find(id);
    return sealed === undefined ? item : { ...item as Item, encrypted_content: sealed };
  });
}

export function isUnsealed(item: unknown): item is Item {
  return isRecord(item) && item.type === "reasoning" &&
    asString(item.encrypted_content) === undefined;
}

/**
 * Returns the output that the caller received, for the store: from a whole response object or its
 * terminal event.
 */
export function storedOutput(json: unknown): { id: string; output: Item[] } | undefined {
  const response = isRecord(json) && isRecord(json.response) ? json.response : json;
  if (!isRecord(response)) return undefined;
  const id = asString(response.id);
  if (id === undefined || !Array.isArray(response.output)) return undefined;
  return { id, output: response.output.filter(isRecord) };
}

/** Types of the model's calls that OpenAI accepts without an id. */
const callsWithoutId: ReadonlySet<string> = new Set([
  "function_call",
  "custom_tool_call",
  "apply_patch_call",
  "shell_call",
  "local_shell_call",
  "tool_search_call",
  // Codex sends its searches without their ids.
  "web_search_call",
]);

/**
 * Leaves out reasoning that nothing of its answer follows, because the answer was cut there: OpenAI
 * refuses it "without its required following item".
 */
export function withoutCutReasoning<One extends Item>(items: readonly One[]): One[] {
  let isCut = true;
  return items.toReversed().filter(({ type, role }) => {
    if (type === "reasoning") return !isCut;
    isCut = role === undefined ? isFromCaller(type) : role !== "assistant";
    return true;
  }).reverse();
}

/** Whether an item without a role is the caller's: another agent's message, or a tool's output. */
function isFromCaller(type: unknown): boolean {
  return type === "agent_message" || String(type).endsWith("_output");
}

/** Leaves out reasoning that was never sealed: it is useless to a vendor that stores nothing. */
export function withoutUnsealedReasoning(items: readonly Item[]): Item[] {
  return withoutReasoning(items, isUnsealed);
}

/**
 * Leaves out the reasoning for which `isDropped` is true, by default all of it. Messages and calls
 * that follow it lose their ids, because of which a vendor would expect the reasoning.
 */
export function withoutReasoning(
  items: readonly Item[],
  isDropped: (reasoning: Item) => boolean = () => true,
): Item[] {
  let dropped = false;
  return items.flatMap((item): Item[] => {
    const type = String(item.type);
    if (type === "reasoning") {
      dropped = isDropped(item);
      return dropped ? [] : [item];
    }
    const isMessage = item.role === "assistant";
    // Work that the vendor did between the reasoning and the message separates neither.
    if (!isMessage && !type.endsWith("_call")) dropped = false;
    const mayLoseId = isMessage || callsWithoutId.has(type);
    if (!dropped || !mayLoseId || item.id === undefined) return [item];
    const { id: _, ...rest } = item;
    return [rest];
  });
}

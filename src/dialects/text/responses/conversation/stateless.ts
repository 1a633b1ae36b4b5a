import {
  changeMembersSteps,
  type Edit,
  forEachItem,
  itemsAt,
  locateInSteps,
  type Members,
  membersAtSteps,
  spliceSteps,
  type TextRange,
  topLevelMembersSteps,
} from "../../../../base/json_text.ts";
import { pushAll } from "../../../../base/lists.ts";
import type { Steps } from "../../../../base/steps.ts";
import type { StatelessCall } from "../../../kernel/dialect.ts";
import { asRecord, asString, isRecord } from "../../../kernel/json.ts";
import { neverReasons } from "../models.ts";

const sealed = "reasoning.encrypted_content";

/**
 * A call to a vendor that doesn't hold the caller's conversation. Where the answer may be stored but
 * the vendor must store nothing (`keepNothing`), its reasoning is requested sealed, so that the
 * gateway can send it back; the caller sees neither. The vendor doesn't get the id of the response
 * that is continued, so its answer can't repeat it. Undefined if the answer needs no change.
 */
export function stateless(
  body: unknown,
  { model, keepNothing }: { model: string; keepNothing: boolean },
): StatelessCall | undefined {
  if (!isRecord(body)) return undefined;
  const isStored = keepNothing && body.store !== false;
  const previousId = asString(body.previous_response_id);
  if (!isStored && previousId === undefined) return undefined;
  const sealReasoning = isStored && !requestsSeals(body) && !neverReasons.test(model);
  const echoes: Echo[] = [
    ...(isStored ? [{ name: "store", from: "false", to: "true" }] : []),
    ...(previousId === undefined
      ? []
      : [{ name: "previous_response_id", from: "null", to: JSON.stringify(previousId) }]),
  ];
  return { sealReasoning, show: (text) => showAnswer(text, echoes, sealReasoning) };
}

/** Whether a caller asked to see sealed reasoning. */
export function requestsSeals(body: unknown): boolean {
  const { include } = asRecord(body);
  return Array.isArray(include) && include.includes(sealed);
}

/** A request's field that the answer repeats: the vendor's value, and what the caller sent. */
interface Echo {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the edits that set `store: false`, and that request sealed reasoning in addition to what
 * the caller includes.
 */
export function* statelessEdits(
  text: string,
  members: Members,
  sealReasoning: boolean,
): Steps<Edit[]> {
  const edits: Edit[] = [];
  const insert: [string, string][] = [];
  const store = yield* locateInSteps(text, members, ["store"]);
  if (store) edits.push({ ...store, text: "false" });
  else insert.push(["store", "false"]);
  if (sealReasoning) {
    const include = yield* locateInSteps(text, members, ["include"]);
    if (include) edits.push(yield* includeEdit(text, include));
    else insert.push(["include", JSON.stringify([sealed])]);
  }
  return [...edits, ...(yield* changeMembersSteps(text, members.range, { insert }))];
}

function* includeEdit(text: string, include: TextRange): Steps<Edit> {
  if (text[include.start] !== "[") return { ...include, text: JSON.stringify([sealed]) };
  const last = (yield* itemsAt(text, include)).at(-1);
  const at = last?.end ?? include.start + 1;
  return { start: at, end: at, text: (last ? "," : "") + JSON.stringify(sealed) };
}

/**
 * Returns the text of a whole answer or of one event as if the vendor held the conversation: only
 * what follows from our changes to the request is changed, everything else stays byte for byte.
 */
function* showAnswer(
  text: string,
  echoes: readonly Echo[],
  hideSealed: boolean,
): Steps<string> {
  const isEchoed = echoes.some(({ name }) => text.includes(`"${name}"`));
  if (!isEchoed && !(hideSealed && text.includes('"encrypted_content"'))) return text;
  const top = yield* topLevelMembersSteps(text);
  if (!top) return text;
  const edits: Edit[] = [];
  const inner = top.members.get("response");
  const response = inner ? yield* membersAtSteps(text, inner.valueStart) : top;
  if (response) {
    for (const { name, from, to } of echoes) {
      const echo = yield* locateInSteps(text, response, [name]);
      if (echo && text.slice(echo.start, echo.end) === from) edits.push({ ...echo, text: to });
    }
    const output = hideSealed ? yield* locateInSteps(text, response, ["output"]) : undefined;
    const items = output ? yield* itemsAt(text, output) : [];
    yield* forEachItem(items, (item) => hideIn(text, item, edits));
  }
  const item = hideSealed ? yield* locateInSteps(text, top, ["item"]) : undefined;
  if (item) yield* hideIn(text, item, edits);
  return edits.length === 0 ? text : yield* spliceSteps(text, edits);
}

function* hideIn(text: string, item: TextRange, edits: Edit[]): Steps<void> {
  const members = yield* membersAtSteps(text, item.start);
  const type = members?.members.get("type");
  if (!members?.members.has("encrypted_content") || !type) return;
  if (text.slice(type.valueStart, type.valueEnd) !== '"reasoning"') return;
  pushAll(edits, yield* changeMembersSteps(text, item, { remove: ["encrypted_content"] }));
}

import { finish } from "../../../../base/steps.ts";
import {
  changeMembers,
  type Edit,
  itemsAt,
  locateIn,
  type Members,
  membersAt,
  splice,
  type TextRange,
  topLevelMembers,
} from "../../../../base/json_text.ts";
import { pushAll } from "../../../../base/lists.ts";
import type { StatelessCall } from "../../../kernel/dialect.ts";
import { isRecord } from "../../../kernel/json.ts";
import { neverReasons } from "../models.ts";

const sealed = "reasoning.encrypted_content";

/**
 * A call whose answer may be stored, made to a vendor that must store nothing: its reasoning is
 * requested sealed, so that the gateway can send it back. The caller sees neither. Undefined if the
 * caller wants nothing stored either.
 */
export function stateless(body: unknown, model: string): StatelessCall | undefined {
  if (!isRecord(body) || body.store === false) return undefined;
  const asked = Array.isArray(body.include) && body.include.includes(sealed);
  const sealReasoning = !asked && !neverReasons.test(model);
  return { sealReasoning, show: (text) => showAnswer(text, sealReasoning) };
}

/**
 * Returns the edits that set `store: false`, and that request sealed reasoning in addition to what
 * the caller includes.
 */
export function statelessEdits(text: string, members: Members, sealReasoning: boolean): Edit[] {
  const edits: Edit[] = [];
  const insert: [string, string][] = [];
  const store = locateIn(text, members, ["store"]);
  if (store) edits.push({ ...store, text: "false" });
  else insert.push(["store", "false"]);
  if (sealReasoning) {
    const include = locateIn(text, members, ["include"]);
    if (include) edits.push(includeEdit(text, include));
    else insert.push(["include", JSON.stringify([sealed])]);
  }
  return [...edits, ...changeMembers(text, members.range, { insert })];
}

function includeEdit(text: string, include: TextRange): Edit {
  if (text[include.start] !== "[") return { ...include, text: JSON.stringify([sealed]) };
  const last = finish(itemsAt(text, include)).at(-1);
  const at = last?.end ?? include.start + 1;
  return { start: at, end: at, text: (last ? "," : "") + JSON.stringify(sealed) };
}

/**
 * Returns the text of a whole answer or of one event as if the vendor had stored it: only what we
 * requested is removed, everything else stays byte for byte.
 */
function showAnswer(text: string, hideSealed: boolean): string {
  if (!text.includes('"encrypted_content"') && !text.includes('"store"')) return text;
  const top = topLevelMembers(text);
  if (!top) return text;
  const edits: Edit[] = [];
  const inner = top.members.get("response");
  const response = inner ? membersAt(text, inner.valueStart) : top;
  if (response) {
    const store = locateIn(text, response, ["store"]);
    if (store && text.slice(store.start, store.end) === "false") {
      edits.push({ ...store, text: "true" });
    }
    const output = hideSealed ? locateIn(text, response, ["output"]) : undefined;
    if (output) { for (const item of finish(itemsAt(text, output))) hideIn(text, item, edits); }
  }
  const item = hideSealed ? locateIn(text, top, ["item"]) : undefined;
  if (item) hideIn(text, item, edits);
  return edits.length === 0 ? text : splice(text, edits);
}

function hideIn(text: string, item: TextRange, edits: Edit[]): void {
  const members = membersAt(text, item.start);
  const type = members && locateIn(text, members, ["type"]);
  if (!members?.members.has("encrypted_content") || !type) return;
  if (text.slice(type.start, type.end) !== '"reasoning"') return;
  pushAll(edits, changeMembers(text, item, { remove: ["encrypted_content"] }));
}

import { pushAll } from "../../base/lists.ts";
import {
  cutStringPrefix,
  type Edit,
  itemsAt,
  locate,
  locateIn,
  splice,
  type TextRange,
  topLevelMembers,
} from "../../base/json_text.ts";
import type { RequestChanges, RequestFacts } from "../dialect.ts";
import { isRecord } from "../json.ts";
import { envelopeMark, isEnvelope } from "./envelope.ts";
import { wrong } from "./fields.ts";
import { statelessEdits } from "./stateless.ts";

/**
 * The request's text for a vendor of this dialect: model and tag lines exchanged, and reasoning
 * that we sealed for a vendor of another dialect taken out, which this one would refuse.
 */
export function spliceRequest(
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): string {
  const members = topLevelMembers(bodyText);
  // Of two members of one name we and the vendor might each believe another.
  const twice = members?.duplicates[0];
  if (twice !== undefined) throw wrong(twice, "the field is there twice");
  const edits: Edit[] = [];
  const model = members && locateIn(bodyText, members, ["model"]);
  if (model && changes.model !== facts.model) {
    edits.push({ ...model, text: JSON.stringify(changes.model) });
  }
  for (const { path, units } of facts.tagBlocks) {
    const range = members && locateIn(bodyText, members, path);
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  if (members && changes.keepNothing) {
    pushAll(edits, statelessEdits(bodyText, members, changes.keepNothing.sealReasoning));
  }
  if (bodyText.includes(envelopeMark)) pushAll(edits, removeSealedItems(bodyText));
  return edits.length === 0 ? bodyText : splice(bodyText, edits);
}

function removeSealedItems(bodyText: string): Edit[] {
  const { input } = JSON.parse(bodyText) as { input?: unknown };
  if (!Array.isArray(input) || !input.some(isSealed)) return [];
  const ranges = itemsAt(bodyText, locate(bodyText, ["input"]) as TextRange);
  const kept = input.map((item) => !isSealed(item));
  const edits: Edit[] = [];
  for (let from = 0; from < input.length; from++) {
    if (kept[from]) continue;
    let to = from;
    while (to + 1 < input.length && !kept[to + 1]) to++;
    // A run goes with the comma behind it, or, at the end of the list, the comma before it.
    const next = ranges[to + 1];
    const before = ranges[from - 1];
    edits.push({
      start: next || !before ? ranges[from]!.start : before.end,
      end: next ? next.start : ranges[to]!.end,
      text: "",
    });
    from = to;
  }
  return edits;
}

function isSealed(item: unknown): boolean {
  return isRecord(item) && item.type === "reasoning" &&
    typeof item.encrypted_content === "string" && isEnvelope(item.encrypted_content);
}

import { pushAll } from "../../../base/lists.ts";
import {
  cutStringPrefix,
  type Edit,
  itemsAt,
  locateInSteps,
  splice,
  type TextRange,
  topLevelMembersSteps,
} from "../../../base/json_text.ts";
import { finish, mapInSteps, type Steps } from "../../../base/steps.ts";
import type { RequestChanges, RequestFacts } from "../../kernel/dialect.ts";
import { isRecord } from "../../kernel/json.ts";
import { envelopeMark, isEnvelope } from "./conversation/envelope.ts";
import { wrong } from "./request/fields.ts";
import { statelessEdits } from "./conversation/stateless.ts";

/**
 * The request's text for a vendor of this dialect: model and tag lines exchanged, and reasoning
 * that we sealed for a vendor of another dialect taken out, which this one would refuse.
 */
export function spliceRequest(
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): string {
  return finish(spliceSteps(bodyText, facts, changes));
}

/** The same in steps. */
export function* spliceSteps(
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): Steps<string> {
  const members = yield* topLevelMembersSteps(bodyText);
  // Of two members of one name we and the vendor might each believe another.
  const twice = members?.duplicates[0];
  if (twice !== undefined) throw wrong(twice, "the field is there twice");
  const edits: Edit[] = [];
  const model = members && (yield* locateInSteps(bodyText, members, ["model"]));
  if (model && changes.model !== facts.model) {
    edits.push({ ...model, text: JSON.stringify(changes.model) });
  }
  for (const { path, units } of facts.tagBlocks) {
    const range = members && (yield* locateInSteps(bodyText, members, path));
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  if (members && changes.keepNothing) {
    pushAll(edits, statelessEdits(bodyText, members, changes.keepNothing.sealReasoning));
  }
  const input = members?.members.get("input");
  if (input && bodyText.includes(envelopeMark)) {
    const range = { start: input.valueStart, end: input.valueEnd };
    pushAll(edits, yield* removeSealedItems(bodyText, range));
  }
  return edits.length === 0 ? bodyText : splice(bodyText, edits);
}

function* removeSealedItems(bodyText: string, input: TextRange): Steps<Edit[]> {
  const ranges = yield* itemsAt(bodyText, input);
  const sealed = yield* mapInSteps(ranges, (range) => isSealed(bodyText, range), sealedEach);
  const edits: Edit[] = [];
  for (let from = 0; from < ranges.length; from++) {
    if (!sealed[from]) continue;
    let to = from;
    while (to + 1 < ranges.length && sealed[to + 1]) to++;
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

/** Reasoning may be as large as an answer. */
const sealedEach = 8;

/** Only what holds the mark is read. */
function isSealed(bodyText: string, { start, end }: TextRange): boolean {
  const text = bodyText.slice(start, end);
  if (!text.includes(envelopeMark)) return false;
  const item: unknown = JSON.parse(text);
  return isRecord(item) && item.type === "reasoning" &&
    typeof item.encrypted_content === "string" && isEnvelope(item.encrypted_content);
}

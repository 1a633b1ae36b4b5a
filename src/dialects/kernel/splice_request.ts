import {
  cutStringPrefix,
  type Edit,
  locateIn,
  locateInSteps,
  type Members,
  topLevelMembersSteps,
} from "../../base/json_text.ts";
import type { Steps } from "../../base/steps.ts";
import type { RequestChanges, RequestFacts } from "./dialect.ts";
import { invalidValue } from "../../shared/fault.ts";

/**
 * The members of a request's text; undefined if it isn't an object. A member that occurs twice, in
 * any of the dialect's spellings, is refused: the vendor might read the other one.
 */
export function* requestMembers(
  bodyText: string,
  spell: (key: string) => string = (key) => key,
): Steps<Members | undefined> {
  const members = yield* topLevelMembersSteps(bodyText);
  let duplicate = members?.duplicates[0];
  const seen = new Set<string>();
  for (const { key } of members?.members.values() ?? []) {
    if (seen.has(spell(key))) duplicate ??= key;
    seen.add(spell(key));
  }
  if (duplicate !== undefined) throw invalidValue(duplicate, "duplicate field");
  return members;
}

/** The edits that every dialect makes: name the vendor's model, cut tag lines. */
export function* modelAndTagEdits(
  bodyText: string,
  members: Members,
  facts: RequestFacts,
  changes: RequestChanges,
): Steps<Edit[]> {
  const edits: Edit[] = [];
  const model = yield* locateInSteps(bodyText, members, ["model"]);
  if (model && changes.model !== facts.model) {
    edits.push({ ...model, text: JSON.stringify(changes.model) });
  }
  for (const { path, units } of facts.tagBlocks) {
    const range = yield* locateInSteps(bodyText, members, path);
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  return edits;
}

/** Changes `store: true` to false if the vendor must store nothing. */
export function storeEdits(bodyText: string, members: Members, changes: RequestChanges): Edit[] {
  const store = changes.keepNothing && locateIn(bodyText, members, ["store"]);
  if (!store || bodyText.slice(store.start, store.end) !== "true") return [];
  return [{ ...store, text: "false" }];
}

import {
  cutStringPrefix,
  type Edit,
  locateInSteps,
  type Members,
  splice,
  topLevelMembersSteps,
} from "../../base/json_text.ts";
import { pushAll } from "../../base/lists.ts";
import type { Steps } from "../../base/steps.ts";
import type { Dialect, RequestChanges, RequestFacts } from "./dialect.ts";
import { invalidValue } from "../../shared/fault.ts";

/** What a dialect's `spliceRequest` does beside what all of them do. */
interface OwnSplice {
  edits(bodyText: string, members: Members, changes: RequestChanges): Steps<Edit[]>;
  /** One of a member's spellings, given any. */
  spell?: (key: string) => string;
  /** What a body calls the model, where that isn't its name. */
  modelMember?: (model: string) => string;
}

/** A dialect's `spliceRequest`. */
export function splicer(own: OwnSplice): Dialect["spliceRequest"] {
  return (bodyText, facts, changes) => spliceInSteps(own, bodyText, facts, changes);
}

function* spliceInSteps(
  { edits: ownEdits, spell = itself, modelMember = itself }: OwnSplice,
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): Steps<string> {
  const members = yield* requestMembers(bodyText, spell);
  if (!members) return bodyText;
  const edits = yield* modelAndTagEdits(bodyText, members, facts, modelMember(changes.model));
  pushAll(edits, yield* ownEdits(bodyText, members, changes));
  return splice(bodyText, edits);
}

const itself = (text: string) => text;

/**
 * The members of a request's text; undefined if it isn't an object. A member that occurs twice, in
 * any of the dialect's spellings, is refused: the vendor might read the other one.
 */
function* requestMembers(
  bodyText: string,
  spell: (key: string) => string,
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

/** Names the vendor's model and cuts the tag lines. */
function* modelAndTagEdits(
  bodyText: string,
  members: Members,
  facts: RequestFacts,
  modelText: string,
): Steps<Edit[]> {
  const edits: Edit[] = [];
  const model = yield* locateInSteps(bodyText, members, ["model"]);
  if (model && modelText !== facts.model) {
    edits.push({ ...model, text: JSON.stringify(modelText) });
  }
  for (const { path, units } of facts.tagBlocks) {
    const range = yield* locateInSteps(bodyText, members, path);
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  return edits;
}

/** Changes `store: true` to false if the vendor must store nothing. */
export function* storeEdits(
  bodyText: string,
  members: Members,
  { keepNothing }: RequestChanges,
): Steps<Edit[]> {
  const store = keepNothing && (yield* locateInSteps(bodyText, members, ["store"]));
  if (!store || bodyText.slice(store.start, store.end) !== "true") return [];
  return [{ ...store, text: "false" }];
}

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

/** The part of `spliceRequest` that differs between dialects. */
interface OwnSplice {
  edits(bodyText: string, members: Members, changes: RequestChanges): Steps<Edit[]>;
  /** Maps every spelling of a member's name to the same one. */
  spell?: (key: string) => string;
  /** Returns the value of `model` in a body, if that isn't the model's name. */
  modelMember?: (model: string) => string;
}

/** Returns a dialect's `spliceRequest`. */
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
 * Returns the members of a request's text; undefined if it isn't an object. Throws if a member
 * occurs twice, in any of the dialect's spellings: the vendor might read the other one.
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

/** Returns the edits that write the vendor's model name and cut the tag lines. */
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

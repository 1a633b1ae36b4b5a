import {
  type Edit,
  locateInSteps,
  type Members,
  spliceSteps,
  topLevelMembersSteps,
} from "../../base/json_text.ts";
import { pushAll } from "../../base/lists.ts";
import type { Steps } from "../../base/steps.ts";
import type { Dialect, RequestChanges, RequestFacts } from "./dialect.ts";
import { changedPath, tagEdits } from "./tag_blocks.ts";

/** The part of `spliceRequest` that differs between dialects. */
interface OwnSplice {
  edits(bodyText: string, members: Members, changes: RequestChanges): Steps<Edit[]>;
  /** Returns the value of `model` in a body, if that isn't the model's name. */
  modelMember?: (model: string) => string;
}

/** Returns a dialect's `spliceRequest`. */
export function splicer(own: OwnSplice): Dialect["spliceRequest"] {
  return (bodyText, facts, changes) => spliceInSteps(own, bodyText, facts, changes);
}

function* spliceInSteps(
  { edits: ownEdits, modelMember = (model) => model }: OwnSplice,
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): Steps<string> {
  const members = yield* topLevelMembersSteps(bodyText);
  if (!members) return bodyText;
  const shared = yield* modelAndTagEdits(bodyText, members, facts, modelMember(changes.model));
  const own = yield* ownEdits(bodyText, members, changes);
  // Tag lines may stand in a message that is removed.
  const isInside = (inner: Edit) =>
    own.some(({ start, end }) => start <= inner.start && inner.end <= end);
  return yield* spliceSteps(bodyText, [...shared.filter((edit) => !isInside(edit)), ...own]);
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
  for (const block of facts.tagBlocks) {
    const range = yield* locateInSteps(bodyText, members, changedPath(block));
    if (range) pushAll(edits, yield* tagEdits(bodyText, range, block));
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

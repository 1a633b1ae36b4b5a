import { parseExactly } from "../../../base/exact_json.ts";
import { changeMembersSteps, splice, topLevelMembersSteps } from "../../../base/json_text.ts";
import { Fault } from "../../../shared/fault.ts";
import type { BackgroundForm } from "../../kernel/dialect.ts";
import { asRecord, isRecord, type JsonRecord, recordsIn } from "../../kernel/json.ts";
import { writeFailure } from "./answer/failure.ts";
import { echoedSettings, responseObject } from "./answer/response_object.ts";

/** Calls with `background: true`. */
export const background: BackgroundForm = {
  isAsked: (body) => isRecord(body) && body.background === true,
  *forVendor(body, bodyText) {
    const members = yield* topLevelMembersSteps(bodyText);
    if (!members) throw new Fault("invalid_json");
    const text = splice(
      bodyText,
      yield* changeMembersSteps(bodyText, members.range, {
        remove: ["background", "background_options", "stream"],
        insert: [["stream", "true"]],
      }),
    );
    const { background: _, background_options: __, ...rest } = body as JsonRecord;
    return { body: { ...rest, stream: true }, bodyText: text };
  },
  queued(body, { id, model, created }) {
    const object = responseObject(echoedSettings(body), {
      ...{ id, model, created, completed: undefined },
      ...{ stage: { type: "in_progress" }, output: [], usage: undefined },
    });
    return JSON.stringify({ ...object, status: "queued", background: true });
  },
  moved(queuedText, to) {
    const queued = parseExactly(queuedText) as JsonRecord;
    const state = typeof to === "string"
      ? { status: to }
      : { status: "failed", error: writeFailure(to.failed) };
    return JSON.stringify({ ...queued, ...state });
  },
  answered(answer, queuedText) {
    if (!isRecord(answer)) return answer;
    const { id, created_at } = parseExactly(queuedText) as JsonRecord;
    return { ...answer, id, created_at, background: true };
  },
  stateOf: (answer) =>
    isRecord(answer) && answer.status === "incomplete" ? "incomplete" : "completed",
  hasEffects(body) {
    // Tools of a remote server may book, send or delete things.
    return recordsIn(asRecord(body).tools).some(({ type }) => type === "mcp");
  },
};

import { pushAll } from "../../../base/lists.ts";
import { sha256Hex } from "../../../base/hash.ts";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { estimatedUsage } from "../../kernel/estimated_usage.ts";
import { isRecord } from "../../kernel/json.ts";
import type { AnswerContext } from "../../kernel/translator.ts";
import { carriesError } from "../../kernel/vendor_error.ts";
import { readFailure } from "./answer/failure.ts";
import { writeEnding } from "./finish_reason.ts";
import { OutputReader } from "./answer/output_reader.ts";
import { OutputWriter } from "./answer/output_writer.ts";
import { responseObject } from "./answer/response_object.ts";
import { endingEvents, isFailed, startEvent } from "./answer/response_reader.ts";

/** Events of a whole response object (responses.md §4). */
export function decodeAnswer(json: unknown, quirks: DialectQuirks): CanonicalEvent[] {
  if (!isRecord(json)) {
    throw new Fault("upstream_invalid_response", { note: "answer is no object" });
  }
  if (isFailed(json) || carriesError(json)) {
    return [{ type: "error", error: readFailure(carriesError(json) ? json : { error: {} }) }];
  }
  if (!Array.isArray(json.output) && json.object !== "response") {
    throw new Fault("upstream_invalid_response", { note: "answer has no output" });
  }
  const reader = new OutputReader();
  const events: CanonicalEvent[] = [startEvent(json)];
  reader.finishAll(json.output, events);
  pushAll(events, endingEvents(json, reader, quirks));
  return events;
}

/** The answer of another dialect's vendor as response object, under an id of our own. */
export function encodeWhole(answer: CanonicalAnswer, context: AnswerContext): unknown {
  return writeAnswer(answer, context);
}

/** A folded answer as response object, for the record: ids are drawn from the answer's own. */
export function encodeAnswer(answer: CanonicalAnswer): unknown {
  let minted = 0;
  return writeAnswer(answer, {
    id: (prefix) =>
      prefix === "resp_" && answer.id !== undefined
        ? answer.id
        : prefix + sha256Hex(`${answer.id ?? ""}:${minted++}`).slice(0, 48),
    created: answer.created ?? 0,
    model: "",
    body: {},
  });
}

/** Walks the same steps as a stream, so that both give the same items. */
function writeAnswer(
  answer: CanonicalAnswer,
  context: Pick<AnswerContext, "id" | "created" | "model" | "body" | "now"> & {
    inputTokens?: number;
  },
): Record<string, unknown> {
  const id = context.id("resp_");
  const choice = answer.choices.find((one) => one.index === 0);
  const reason = choice?.finish?.reason;
  const writer = new OutputWriter(context.id, () => {});
  for (const event of blockEvents(choice)) writer.add(event);
  const { status } = writeEnding(reason);
  writer.close(status);
  writer.requireContent(status);
  const estimated = context.inputTokens === undefined
    ? undefined
    : estimatedUsage(answer, context.inputTokens);
  return responseObject(context.body, {
    id,
    created: context.created,
    completed: context.now?.(),
    model: answer.model ?? context.model,
    stage: { type: "ended", reason },
    output: writer.items,
    usage: answer.usage ?? estimated,
  });
}

function blockEvents(choice: CanonicalAnswer["choices"][number] | undefined): CanonicalEvent[] {
  // A fold keeps the log-probabilities of all texts together: they go with the first.
  const spoken = choice?.parts.findIndex((part) => part.kind === "text");
  return (choice?.parts ?? []).flatMap((part, block): CanonicalEvent[] => {
    const { text, opaque, citations, ...content } = part;
    const at = { choice: 0, block };
    const logprobs = block === spoken ? choice?.logprobs : undefined;
    return [
      { type: "block-start", ...at, content },
      { type: "block-delta", ...at, text, ...(logprobs ? { logprobs } : {}) },
      ...(citations ?? []).map((citation) => ({ type: "citation" as const, ...at, citation })),
      { type: "block-end", ...at, ...(opaque ? { opaque } : {}) },
    ];
  });
}

import { sha256Hex } from "../../../base/hash.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { estimatedUsage } from "../../kernel/estimated_usage.ts";
import type { JsonRecord } from "../../kernel/json.ts";
import { OutputWriter } from "./answer/output_writer.ts";
import { responseObject } from "./answer/response_object.ts";
import { writeFinishReason } from "./finish_reason.ts";

/**
 * A whole answer as a response object. With a context: for a caller whose vendor speaks another
 * dialect, under an id of our own. Without: for the record, with ids derived from the answer's.
 */
export function encodeAnswer(answer: CanonicalAnswer, context?: AnswerContext): JsonRecord {
  if (context) return writeAnswer(answer, context);
  let issued = 0;
  return writeAnswer(answer, {
    id: (prefix) =>
      prefix === "resp_" && answer.id !== undefined
        ? answer.id
        : prefix + sha256Hex(`${answer.id ?? ""}:${issued++}`).slice(0, 48),
    created: answer.created ?? 0,
    model: "",
    body: {},
  });
}

/** Takes the same steps as a stream, so that both produce the same items. */
function writeAnswer(
  answer: CanonicalAnswer,
  context: Pick<AnswerContext, "id" | "created" | "model" | "body" | "now"> & {
    inputTokens?: number;
    request?: AnswerContext["request"];
  },
): JsonRecord {
  const id = context.id("resp_");
  const choice = answer.choices.find((one) => one.index === 0);
  const reason = choice?.finish?.reason;
  const writer = new OutputWriter(context.id, () => {}, context.request?.namespaces);
  for (const event of blockEvents(choice)) writer.add(event);
  const { status } = writeFinishReason(reason);
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
  // A folded answer has one list of log-probabilities for all texts: the first text gets it.
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

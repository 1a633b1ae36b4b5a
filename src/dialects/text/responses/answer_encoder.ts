import { sha256Hex } from "../../../base/hash.ts";
import type { CanonicalAnswer, CanonicalChoice, CanonicalEvent } from "../../kernel/canonical.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { shownUsage } from "../../kernel/shown_usage.ts";
import type { JsonRecord } from "../../kernel/json.ts";
import { summaryIn } from "../../kernel/summary.ts";
import { recordedSeal, sealFor } from "./conversation/envelope.ts";
import { writeSummary } from "./conversation/summary.ts";
import { OutputWriter } from "./answer/output_writer.ts";
import { echoedSettings, responseObject } from "./answer/response_object.ts";
import { writeFinishReason } from "./finish_reason.ts";

/**
 * Writes a whole answer as a response object. With a context: for a caller whose vendor speaks
 * another dialect, under an id of our own. Without: for the record, with ids derived from the
 * answer's.
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
  const writer = new OutputWriter(context.id, () => {}, {
    namespaces: context.request?.namespaces,
    seal: context.request ? sealFor(context.body) : recordedSeal,
  });
  const isSummary = context.request?.asksForSummary === true;
  for (const event of blockEvents(choice, isSummary, context.id)) writer.add(event);
  const { status } = writeFinishReason(reason);
  writer.close(status);
  writer.requireContent(status);
  const { inputTokens } = context;
  return responseObject(echoedSettings(context.body), {
    id,
    created: context.created,
    completed: context.now?.(),
    model: answer.model ?? context.model,
    stage: { type: "ended", reason },
    output: writer.items,
    usage: inputTokens === undefined ? answer.usage : shownUsage(answer, inputTokens),
  });
}

/**
 * Returns the events of a choice's blocks. An answer that was asked for a summary but isn't one is
 * written like any other.
 */
export function blockEvents(
  choice: CanonicalChoice | undefined,
  isSummary: boolean,
  newId: (prefix: string) => string,
): CanonicalEvent[] {
  const summary = isSummary && choice ? summaryIn(choice) : undefined;
  if (summary !== undefined) {
    const value = writeSummary(newId("cmp_"), summary);
    return [{
      ...{ type: "block-start", choice: 0, block: 0 },
      content: { kind: "vendor", dialect: "responses", value },
    }];
  }
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

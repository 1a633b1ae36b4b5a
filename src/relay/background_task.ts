import type { BackgroundForm } from "../dialects/kernel/dialect.ts";
import { Fault } from "../shared/fault.ts";
import type { BackgroundEnd, StoredResponseFields } from "../shared/stored_response.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Call } from "./call.ts";
import type { Ending } from "./ending.ts";
import type { Authorization } from "./pipeline.ts";
import type { Reply } from "./reply.ts";
import { parseExactly } from "../base/exact_json.ts";
import { changeMembersSteps, splice, topLevelMembersSteps } from "../base/json_text.ts";
import { heavyUnits, parsing } from "../base/heavy_json.ts";
import type { Steps } from "../base/steps.ts";
import { writeJson } from "../base/write_json.ts";
import type { TextPlan, VendorAnswer, WholeAnswer } from "./plan/text_plan.ts";

/** A background call on its way through the relay. */
export interface BackgroundCall {
  readonly task: BackgroundTask;
  /** What is already held for it; absent: nothing. */
  readonly authorization?: Authorization;
  /** Called instead of the vendor: the call is accepted now and made later. */
  taken?(call: TakenCall): Promise<Reply>;
}

/** A call that is permitted and paid for. */
export interface TakenCall {
  call: Pick<Call, "begun" | "transactionId">;
  target: ResolvedModel;
  authorization: Authorization;
  losses: readonly string[];
}

/** Why this process stops a call. */
export type StopReason = "cancelled" | "timeout" | "given_up";

/** A running background call as its plan and its record see it. */
export class BackgroundTask {
  /** Set before the vendor's connection is closed. */
  stopped: StopReason | undefined;
  readonly transactionId: string;
  readonly form: BackgroundForm;
  readonly #responseId: string;
  #queuedText: string;
  #fault: Fault | undefined;
  /** Of the answer, if there is one. */
  #answerState: ReturnType<BackgroundForm["stateOf"]> = "completed";

  constructor(
    { form, transactionId, responseId, queuedText }: {
      form: BackgroundForm;
      transactionId: string;
      responseId: string;
      /** The response object as the caller first got it; JSON text. */
      queuedText: string;
    },
  ) {
    this.form = form;
    this.transactionId = transactionId;
    this.#responseId = responseId;
    this.#queuedText = queuedText;
  }

  /** The vendor's answer under the response id that the caller has. */
  answered(answer: unknown): unknown {
    this.#answerState = this.form.stateOf(answer);
    return this.form.answered(answer, this.#queuedText);
  }

  /** Notes that the call failed in the middle of its answer. */
  failed(fault: Fault): void {
    this.#fault = fault;
  }

  /**
   * Returns the ending to record; undefined if another process has taken over the call, and this
   * one records nothing.
   */
  ending(ending: Ending): Ending | undefined {
    if (ending.status !== "cancelled") return ending;
    if (this.stopped === "given_up") return undefined;
    if (this.stopped !== "timeout") return ending;
    const fault = new Fault("upstream_timeout", {
      message: "The background call exceeded its time limit.",
    });
    return { status: "failed", httpStatus: 504, errorCode: fault.code, fault };
  }

  /** Returns how the call ended for its caller. `answerText` is the stored answer. */
  end(ending: Ending, answerText: StoredResponseFields["answerText"] | undefined): BackgroundEnd {
    const responseId = this.#responseId;
    if (answerText !== undefined) {
      return { responseId, state: this.#answerState, answerText: null };
    }
    if (ending.status === "cancelled") {
      const text = this.form.moved(this.#queuedText, "cancelled");
      return { responseId, state: "cancelled", answerText: text };
    }
    const fault = ending.fault ?? this.#fault ?? new Fault(ending.errorCode ?? tooLarge);
    const failed = this.form.moved(this.#queuedText, { failed: fault });
    return { responseId, state: "failed", answerText: failed };
  }
}

/** An answer that was completed but not stored was too large. */
const tooLarge = "upstream_invalid_response";

function* storedWhole(
  plan: TextPlan,
  task: BackgroundTask,
  answer: VendorAnswer,
): Steps<WholeAnswer> {
  const { text: callersText, ...whole } = yield* plan.whole(answer);
  const isHeavy = callersText.length > heavyUnits;
  const json = isHeavy ? yield* parsing(callersText) : parseExactly(callersText);
  const answered = task.answered(json);
  const text = isHeavy ? yield* writeJson(answered) : JSON.stringify(answered);
  return { ...whole, body: "", text };
}

/**
 * The plan of a background call: the answer is only recorded and stored, under the id that the
 * caller already has.
 */
export function planBackground(plan: TextPlan, task: BackgroundTask): TextPlan {
  return {
    upstream: plan.upstream,
    sameDialect: plan.sameDialect,
    quirks: plan.quirks,
    requestText: plan.requestText,
    plainRequestText: () => plan.plainRequestText(),
    wholeRequestText: (requestText) => withoutStream(requestText, plan.upstream),
    losses: plan.losses,
    hosted: plan.hosted,
    whole: (answer) => storedWhole(plan, task, answer),
    stream() {
      const stream = plan.stream();
      return {
        contentType: stream.contentType,
        ...(stream.changeAhead ? { changeAhead: (event) => stream.changeAhead!(event) } : {}),
        forward: (event, decoded) => ({
          events: stream.forward(event, decoded).events,
          sent: undefined,
        }),
        end: (rest) => ({ events: stream.end(rest).events, sent: undefined }),
        fail(fault) {
          task.failed(fault);
          return new Uint8Array();
        },
      };
    },
    encodeFolded: (answer) => answered(task, plan.encodeFolded(answer)),
    retainedReasoning: (answer) => plan.retainedReasoning(answer),
  };
}

function* answered(task: BackgroundTask, encoded: Steps<unknown>): Steps<unknown> {
  return task.answered(yield* encoded);
}

function* withoutStream(text: string, upstream: TextPlan["upstream"]): Steps<string> {
  const members = yield* topLevelMembersSteps(text);
  if (!members) return text;
  return splice(
    text,
    yield* changeMembersSteps(text, members.range, { remove: upstream.resendRules.streaming }),
  );
}

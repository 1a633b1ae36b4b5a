import { heavyUnits, parsing } from "../../base/heavy_json.ts";
import { flatMapInSteps, type Steps } from "../../base/steps.ts";
import { writeJson } from "../../base/write_json.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../dialects/kernel/canonical.ts";
import { isRecord, type JsonRecord } from "../../dialects/kernel/json.ts";
import type { Loss, UnsupportedField } from "../../dialects/kernel/canonical_request.ts";
import { foldInSteps, maxBlocks, maxCitations } from "../../dialects/kernel/fold.ts";
import type { HostedWork } from "../../dialects/kernel/hosted.ts";
import type { AnswerContext, Dialect, EncodedRequest } from "../../dialects/kernel/dialect.ts";
import { encodeInSteps } from "../../dialects/kernel/read_arguments.ts";
import { requireSummary } from "../../dialects/kernel/summary.ts";
import { ResponseRewriter } from "../../dialects/kernel/response_rewriter.ts";
import { Fault, unreadableAnswer } from "../../shared/fault.ts";
import type { TranslationMode } from "../../keys/api_key.ts";
import type { ResolvedModel } from "../../vendors/model_name.ts";
import { answerIds } from "../reply.ts";
import type { StreamPlan, TextPlan, VendorAnswer, WholeAnswer } from "./text_plan.ts";
import { retainedReasoning } from "../conversation/reasoning_store.ts";

export interface TranslationCall {
  transactionId: string;
  /** The caller's dialect. */
  dialect: Dialect;
  /** The vendor's dialect. */
  upstream: Dialect;
  /** The parts of the caller's request that the answer depends on. */
  request: AnswerContext["request"];
  /** The caller's body, for fields that are echoed. */
  body: unknown;
  target: ResolvedModel;
  /** The model's name for the answer; undefined: the vendor's own. */
  shownModel: string | undefined;
  /** The encoded request's losses, and how to reverse its changes. */
  encoded: Pick<EncodedRequest, "losses" | "emulations">;
  /** The encoded request's JSON text. */
  requestText: string;
  /** What the request asks the vendor to run besides the model. */
  hosted: HostedWork;
  /** The prompt's estimated tokens. */
  inputTokens: number;
  mode: TranslationMode;
  showUsage: boolean;
  /** The caller asked for a stream. */
  streams: boolean;
  /** The caller wants a stream as one JSON array. */
  jsonArray: boolean;
  /** A stream gets a comment after it was silent for this long. */
  keepAliveMs: number;
  /** Unix time in seconds. */
  created: number;
  /** The current Unix time in seconds. */
  now: () => number;
}

/**
 * Plans a call whose vendor speaks another dialect: request and answer go through the canonical
 * form.
 */
export function translate(options: TranslationCall): TextPlan {
  let ended: number | undefined;
  // The caller's answer and the stored one name the same time for its end.
  const call = { ...options, now: () => ended ??= options.now() };
  const { dialect, upstream, target, encoded } = call;
  const losses = enforceTranslationMode(encoded.losses, call.mode);
  const createRewriter = () => {
    const ids = answerIds(`${call.transactionId}/tools`);
    return new ResponseRewriter(encoded.emulations, () => ids("call_"));
  };
  const encodeWhole = (answer: CanonicalAnswer) => encodeInSteps(dialect, answer, contextOf(call));
  return {
    upstream,
    sameDialect: false,
    quirks: target.vendor.quirks,
    hosted: call.hosted,
    requestText: call.requestText,
    plainRequestText: () => withoutUsageFlag(upstream, call.requestText),
    losses,
    whole: (answer) => translateWhole(call, createRewriter(), encodeWhole, answer),
    stream: () => streamPlan(call, createRewriter()),
    encodeFolded: encodeWhole,
    retainedReasoning,
  };
}

function* translateWhole(
  call: TranslationCall,
  rewriter: ResponseRewriter,
  encode: (answer: CanonicalAnswer) => Steps<unknown>,
  { bytes, events }: VendorAnswer,
): Steps<WholeAnswer> {
  const undone = yield* flatMapInSteps(events, (event) => rewriter.apply(event));
  const answer = yield* foldInSteps(undone);
  requireOnlyChoice(call, new Set(answer.choices.map(({ index }) => index)));
  const { asksForSummary } = call.request;
  if (asksForSummary) requireSummary(answer, asksForSummary);
  const encoded = yield* encode(answer);
  const text = bytes.length > heavyUnits ? yield* writeJson(encoded) : JSON.stringify(encoded);
  const sent = call.streams ? yield* asStream(call, undone) : { body: text };
  const { withoutRepeated } = call.dialect;
  const recorded = withoutRepeated ? yield* withoutRepeated(text) : text;
  return { contentType: "application/json", ...sent, text: recorded, events: undone };
}

/** Encodes an answer that came whole as the stream that the caller asked for. */
function* asStream(
  call: TranslationCall,
  events: readonly CanonicalEvent[],
): Steps<Pick<WholeAnswer, "body" | "contentType">> {
  const encoder = call.dialect.createStreamEncoder(contextOf(call));
  const pieces = new PieceLimit();
  const texts: string[] = [];
  for (const event of events) {
    pieces.check(event);
    texts.push(encoder.encode(event));
    yield;
  }
  return {
    body: texts.join("") + encoder.end(),
    contentType: encoder.contentType ?? eventStream,
  };
}

const eventStream = "text/event-stream";

/**
 * Most text of a stream in UTF-16 units; no real answer has more. What an encoder can't write yet it
 * holds: blocks that wait for others, pieces of media, and of two dialects the whole answer.
 */
const maxChars = 64 * 1024 * 1024;
/**
 * Most text that comes in one piece, apart from media and vendors' own blocks. Some dialects write
 * it four times; no model writes as much in a whole answer.
 */
const maxPieceChars = 8 * 1024 * 1024;
/** An event that waits takes room even if it is empty. */
const charsOfEvent = 32;

/** Throws `upstream_invalid_response` for text that comes in too long a piece. */
class PieceLimit {
  /** Blocks whose pieces may be long. */
  readonly #long = new Set<number>();

  check(event: CanonicalEvent): void {
    if (event.type === "block-start") {
      const { kind } = event.content;
      if (kind === "media" || kind === "vendor") this.#long.add(event.block);
    } else if (event.type === "block-delta" && event.text.length > maxPieceChars) {
      if (!this.#long.has(event.block)) throw tooLong();
    }
  }
}

/** How long the arguments of calls are that haven't ended. */
class OpenCalls {
  readonly #units = new Map<number, number>();

  listen(event: CanonicalEvent): void {
    if (event.type === "block-start") {
      if (event.content.kind === "tool-call") this.#units.set(event.block, 0);
    } else if (this.#units.size === 0) return;
    else if (event.type === "block-end") this.#units.delete(event.block);
    else if (event.type === "block-delta") {
      const before = this.#units.get(event.block);
      if (before !== undefined) this.#units.set(event.block, before + event.text.length);
    }
  }

  unitsOf(block: number): number {
    return this.#units.get(block) ?? 0;
  }
}

function tooLong(): Fault {
  return unreadableAnswer("a stream with more text than can be translated");
}

function streamPlan(call: TranslationCall, rewriter: ResponseRewriter): StreamPlan {
  const encoder = call.dialect.createStreamEncoder(contextOf(call));
  const ended = new Set<number>();
  let chars = 0;
  let blocks = 0;
  let citations = 0;
  const pieces = new PieceLimit();
  const calls = new OpenCalls();
  const write = (events: readonly CanonicalEvent[]): { events: CanonicalEvent[]; sent: string } => {
    const undone: CanonicalEvent[] = [];
    let sent = "";
    for (const event of events) {
      chars += charsOfEvent + (event.type === "block-delta" ? event.text.length : 0);
      if (event.type === "block-start") blocks++;
      else if (event.type === "citation") citations++;
      pieces.check(event);
      calls.listen(event);
      if (chars > maxChars || blocks > maxBlocks || citations > maxCitations) throw tooLong();
      if (rewriter.keeps(event)) {
        undone.push(event);
        sent += encoder.encode(event);
        continue;
      }
      if (event.type === "finish") ended.add(event.choice);
      for (const one of rewriter.apply(event)) {
        undone.push(one);
        sent += encoder.encode(one);
      }
    }
    return { events: undone, sent };
  };
  return {
    contentType: encoder.contentType ?? eventStream,
    forward: (_event, decoded) => write(decoded.events),
    takesSlices: true,
    unitsOfCall: (block) => calls.unitsOf(block),
    forwardRun: (_bytes, events) => write(events),
    end(rest) {
      const { events, sent } = write(rest);
      requireOnlyChoice(call, ended);
      return { events, sent: sent + encoder.end() };
    },
    fail: (fault) => new TextEncoder().encode(encoder.fail(fault)),
    keepAlive: {
      afterMs: call.keepAliveMs,
      bytes: () => new TextEncoder().encode(encoder.keepAlive()),
    },
  };
}

/**
 * Throws `upstream_invalid_response` if the caller asked for one choice and the vendor's answer has
 * choices but not number 0: the first is unreadable, or has another number.
 */
function requireOnlyChoice(
  { request }: TranslationCall,
  choices: ReadonlySet<number>,
): void {
  if ((request.choices ?? 1) > 1 || choices.size === 0 || choices.has(0)) return;
  throw unreadableAnswer("an answer without the choice that was asked for");
}

function contextOf(call: TranslationCall): AnswerContext {
  return {
    id: answerIds(call.transactionId),
    created: call.created,
    model: call.target.model,
    shownModel: call.shownModel,
    request: call.request,
    body: call.body,
    showUsage: call.showUsage,
    inputTokens: call.inputTokens,
    jsonArray: call.jsonArray,
    now: call.now,
  };
}

/**
 * Applies the translation mode: `strict` refuses every loss, `lenient` none, `default` those that
 * change the meaning of the request. Returns the paths to report: the first thousand, since each part
 * of a request may lose something.
 */
export function enforceTranslationMode(
  losses: readonly (Loss | UnsupportedField)[],
  mode: TranslationMode,
): string[] {
  const refused = losses.find(({ weight }) =>
    mode === "strict" || (mode === "default" && weight === "meaning")
  );
  if (refused) {
    const use = "instead" in refused ? `Use ${refused.instead}` : undefined;
    const advice = mode === "strict"
      ? use
      : `${use ?? "Leave it out"}, or send 'X-Translation-Mode: lenient' to drop it`;
    throw new Fault("unsupported_parameter", {
      param: refused.path,
      message: `${refused.path}: ${whyRefused(refused)}.${advice ? ` ${advice}.` : ""}`,
    });
  }
  const paths = new Set<string>();
  for (const { path } of losses) {
    if (paths.size === maxReported) break;
    paths.add(path);
  }
  return [...paths];
}

/** More paths than anybody reads, or than fit into the header. */
const maxReported = 1000;

/**
 * Names the type of a part, item, tool, format or tool choice, since the caller's dialect may not
 * have it: the vendor may well support what was meant, such as an image that was written as in
 * another dialect.
 */
function whyRefused(refused: Loss | UnsupportedField): string {
  if ("instead" in refused) return "this endpoint has no such field";
  const isTyped = /(?:\]|format|tool_choice)$/.test(refused.path);
  const type = isTyped && "value" in refused && isRecord(refused.value) && refused.value.type;
  return typeof type === "string" && /^[\w:-]{1,64}$/.test(type)
    ? `the type '${type}' is unknown, or the vendor of this model can't carry it`
    : "the vendor of this model can't carry this field";
}

/**
 * Parses the text again: this is rarely needed, so the plan doesn't hold the parsed request for it.
 */
function* withoutUsageFlag({ usageFlag }: Dialect, requestText: string): Steps<string | undefined> {
  if (!usageFlag) return undefined;
  const request = yield* parsing(requestText);
  return yield* writeJson(usageFlag.without(request as JsonRecord));
}

import { BlockEvents } from "../../../kernel/block_events.ts";
import type {
  CanonicalEvent,
  DialectFields,
  SearchWork,
  TokenLogprob,
} from "../../../kernel/canonical.ts";
import type { Opaque } from "../../../kernel/canonical_request.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { invalidCode, readFinishReason } from "../finish_reason.ts";
import { readCitations, readSearch } from "./grounding.ts";
import { choiceList } from "../../../kernel/choices.ts";
import type { LogprobReader } from "../../../kernel/token_logprobs.ts";
import { readLogprobs } from "./logprobs.ts";
import { ownFields } from "../../../kernel/own_fields.ts";
import { OwnCandidate } from "./own_candidate.ts";
import { isText, ownOfData, withOwnOfText } from "./own_part.ts";
import { PartialArgs } from "./partial_args.ts";

/** Text or reasoning that may continue in the next part. */
interface OpenText {
  kind: "text" | "reasoning";
  block: number;
  /** For citations only: their offsets refer to the text. */
  pieces: string[];
  /** Of all its parts; the last value of a member counts. */
  own: JsonRecord;
}

/** A function call whose arguments are streamed in pieces. */
interface OpenCall {
  block: number;
  args: PartialArgs;
  opaque: Opaque | undefined;
  own?: DialectFields;
}

/**
 * Reads the elements of one candidate into canonical events. The finish is held back until the end:
 * some servers repeat `finishReason` in each element, and function calls decide what STOP means.
 */
export class CandidateReader {
  /**
   * Whether another element may follow the one with a finish reason: the first element had one, or
   * one has followed.
   */
  mayRepeatReason = true;
  readonly #choice: number;
  readonly #blocks: BlockEvents;
  readonly #logprobs: LogprobReader;
  #text: OpenText | undefined;
  #call: OpenCall | undefined;
  #grounded: JsonRecord | undefined;
  readonly #own = new OwnCandidate();
  #search: SearchWork | undefined;
  #sawToolCall = false;
  #sawContent = false;
  #finishReason: string | undefined;

  /**
   * `nextBlock` is shared by all candidates of the answer, since block numbers are unique in it.
   * `logprobs` may have read their log-probabilities ahead.
   */
  constructor(choice: number, nextBlock: { value: number }, logprobs: LogprobReader) {
    this.#choice = choice;
    this.#logprobs = logprobs;
    this.#blocks = new BlockEvents(choice, nextBlock);
  }

  /** Whether an element had a finish reason. */
  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Reads one entry of an element's `candidates`. */
  read(candidate: JsonRecord, events: CanonicalEvent[]): void {
    if (this.finished) this.mayRepeatReason = true;
    for (const key of ["groundingMetadata", "citationMetadata"]) {
      if (isRecord(candidate[key])) this.#grounded = { ...this.#grounded, [key]: candidate[key] };
    }
    this.#search = readSearch(candidate) ?? this.#search;
    this.#own.add(candidate);
    const parts = choiceList(asRecord(candidate.content).parts, "parts").filter(isRecord);
    let logprobs = readLogprobs(candidate, this.#logprobs);
    for (const part of parts) {
      const isText = typeof part.text === "string" && part.text !== "" && part.thought !== true;
      this.#part(part, events, isText ? logprobs : undefined);
      if (isText) logprobs = undefined;
    }
    if (logprobs && this.#text?.kind === "text") {
      this.#blocks.delta(this.#text.block, "", events, logprobs);
    }
    this.#finishReason = asString(candidate.finishReason) ?? this.#finishReason;
    if (!this.finished) this.mayRepeatReason = false;
    if (this.#isInvalid()) this.#invalid(asString(candidate.finishMessage), events);
  }

  /** Closes the open blocks and emits the finish, if there was one. */
  close(events: CanonicalEvent[]): void {
    const raw = this.#finishReason;
    this.#own.report("generate", events, this.#choice);
    this.#closeCall(events, raw === undefined || readFinishReason(raw, true) === "length");
    this.#cite(events);
    this.#closeText(events);
    this.#emitSearch(events);
    if (raw === undefined || this.#isInvalid()) return;
    const ending = readFinishReason(raw, this.#sawToolCall);
    events.push({
      type: "finish",
      choice: this.#choice,
      reason: ending === "invalid" ? (this.#sawToolCall ? "tool_calls" : "stop") : ending,
      raw,
    });
  }

  /** Emits the searches, which are reported at the end, apart from the text. */
  #emitSearch(events: CanonicalEvent[]): void {
    if (!this.#search) return;
    const content = { kind: "vendor", dialect: "generate", value: undefined } as const;
    this.#blocks.whole({ ...content, search: this.#search }, "", events);
    this.#search = undefined;
  }

  /**
   * Whether the answer consists only of an invalid call: that is a failure, never an empty success.
   */
  #isInvalid(): boolean {
    return this.#finishReason !== undefined && !this.#sawContent &&
      readFinishReason(this.#finishReason, false) === "invalid";
  }

  #invalid(message: string | undefined, events: CanonicalEvent[]): void {
    events.push({
      type: "error",
      error: {
        status: undefined,
        code: this.#finishReason,
        type: invalidCode(this.#finishReason),
        message,
        param: undefined,
        retryAfterSeconds: undefined,
      },
    });
  }

  #part(part: JsonRecord, events: CanonicalEvent[], logprobs?: readonly TokenLogprob[]): void {
    const opaque = signature(part);
    if (isRecord(part.functionCall)) return this.#functionCall(part, opaque, events);
    if (isText(part, opaque)) return this.#textPart(part, opaque, events, logprobs);
    this.#closeCall(events);
    this.#closeText(events);
    this.#sawContent = true;
    const { block, data, own } = this.#startMedia(part, events);
    if (data !== "") this.#blocks.delta(block, data, events);
    // The vendor's call of its own tool has to be sent back unchanged, with its signature.
    const isWork = isRecord(part.toolCall) || isRecord(part.toolResponse);
    const whole = { dialect: "generate", kind: "block", value: JSON.stringify(part) } as const;
    this.#blocks.end(block, events, { opaque: isWork ? whole : opaque, ...(own && { own }) });
  }

  /** A signature ends the text that it signs; on an empty part it signs the text before. */
  #textPart(
    part: JsonRecord,
    opaque: Opaque | undefined,
    events: CanonicalEvent[],
    logprobs?: readonly TokenLogprob[],
  ): void {
    const text = asString(part.text) ?? "";
    if (text === "" && opaque === undefined) return;
    this.#closeCall(events);
    const kind = part.thought === true ? "reasoning" : "text";
    if (this.#text && this.#text.kind !== kind && text !== "") this.#closeText(events);
    this.#text ??= this.#openText(kind, events);
    this.#text.own = withOwnOfText(this.#text.own, part);
    if (text !== "") {
      this.#blocks.delta(this.#text.block, text, events, logprobs);
      this.#text.pieces.push(text);
      if (kind === "text") this.#sawContent = true;
    }
    if (opaque) this.#closeText(events, opaque);
  }

  #openText(kind: OpenText["kind"], events: CanonicalEvent[]): OpenText {
    return { kind, block: this.#blocks.start({ kind }, events), pieces: [], own: {} };
  }

  #functionCall(part: JsonRecord, opaque: Opaque | undefined, events: CanonicalEvent[]): void {
    const call = asRecord(part.functionCall);
    const name = asString(call.name);
    if (name === undefined) return this.#continueCall(call, events);
    this.#closeCall(events);
    this.#closeText(events);
    this.#sawToolCall = true;
    this.#sawContent = true;
    const id = asString(call.id) ?? "";
    const block = this.#blocks.start({ kind: "tool-call", id, name, custom: false }, events);
    const args = asRecord(call.args);
    const own = ownFields("generate", ownOfData(part, "functionCall"));
    if (call.willContinue === true || Array.isArray(call.partialArgs)) {
      this.#call = { block, args: new PartialArgs(args), opaque, ...own };
      return this.#continueCall(call, events);
    }
    this.#blocks.delta(block, JSON.stringify(args), events);
    this.#blocks.end(block, events, { opaque, ...own });
  }

  /** Adds a piece to the open call; the last piece ends it. */
  #continueCall(call: JsonRecord, events: CanonicalEvent[]): void {
    this.#call?.args.add(call.partialArgs);
    if (call.willContinue !== true) this.#closeCall(events);
  }

  /** A draft of an image is a thought, which no other dialect may show as the image. */
  #startMedia(
    part: JsonRecord,
    events: CanonicalEvent[],
  ): { block: number; data: string; own?: DialectFields } {
    const inline = asRecord(part.inlineData);
    const mimeType = asString(inline.mimeType) ?? "";
    const media = /^(image|audio)\//.exec(mimeType)?.[1] as "image" | "audio" | undefined;
    if (media === undefined || part.thought === true) {
      const { thoughtSignature: _, ...value } = part;
      return {
        block: this.#blocks.start({ kind: "vendor", dialect: "generate", value }, events),
        data: "",
      };
    }
    const block = this.#blocks.start({ kind: "media", media, mimeType, id: undefined }, events);
    const own = ownFields("generate", ownOfData(part, "inlineData"));
    return { block, data: asString(inline.data) ?? "", ...own };
  }

  #closeText(events: CanonicalEvent[], opaque?: Opaque): void {
    if (!this.#text) return;
    if (this.#text.kind === "text" && this.#grounded) this.#cite(events);
    const { block, own } = this.#text;
    this.#blocks.end(block, events, { opaque, ...ownFields("generate", own) });
    this.#text = undefined;
  }

  #closeCall(events: CanonicalEvent[], cut = false): void {
    const call = this.#call;
    if (!call) return;
    this.#call = undefined;
    this.#blocks.delta(call.block, cut ? call.args.unfinished() : call.args.whole(), events);
    this.#blocks.end(call.block, events, call);
  }

  /** Cites the sources of the open text; if none is open, an empty one is started. */
  #cite(events: CanonicalEvent[]): void {
    if (!this.#grounded) return;
    const open = this.#text?.kind === "text" ? this.#text : undefined;
    const citations = readCitations(this.#grounded, open?.pieces.join("") ?? "");
    this.#grounded = undefined;
    if (citations.length === 0) return;
    if (!open) this.#closeText(events);
    this.#text ??= this.#openText("text", events);
    const { block } = this.#text;
    for (const citation of citations) this.#blocks.cite(block, citation, events);
  }
}

function signature(part: JsonRecord): Opaque | undefined {
  const value = asString(part.thoughtSignature);
  return value === undefined ? undefined : { dialect: "generate", kind: "thoughtSignature", value };
}

import { beginning } from "../../base/characters.ts";
import { pushAll } from "../../base/lists.ts";
import { finish, type Steps } from "../../base/steps.ts";
import { unreadableAnswer } from "../../shared/fault.ts";
import { ArgumentNames, maxArgumentNames } from "./argument_names.ts";
import type {
  AnswerPart,
  CanonicalAnswer,
  CanonicalChoice,
  CanonicalEvent,
  DialectFields,
  DialectFieldsEvent,
  TokenLogprob,
} from "./canonical.ts";
import { countLogprobs } from "./token_logprobs.ts";

interface OpenPart {
  part: AnswerPart;
  pieces: string[];
}

/**
 * Folds the events of an answer into a whole answer. Text beyond `maxChars` (UTF-16 units, all
 * blocks together) is dropped and the answer marked truncated, so that an endless stream can't fill
 * the memory. Media, which records store separately, has a limit of its own, and so have
 * log-probabilities, without which the answer is still whole.
 */
export class Fold {
  #start: Pick<CanonicalAnswer, "id" | "model" | "created"> = {
    ...{ id: undefined, model: undefined, created: undefined },
  };
  readonly #choices = new Map<number, CanonicalChoice>();
  readonly #parts = new Map<number, OpenPart>();
  #usage: CanonicalAnswer["usage"];
  readonly #own: { own?: DialectFields } = {};
  readonly #room: { text: number; media: number; logprobs: number };
  #truncated = false;
  #lacksLogprobs = false;
  readonly #names = new ArgumentNames();
  #citations = 0;
  #logprobs = 0;
  #excess: keyof typeof maxOf | undefined;

  constructor(maxChars: number, maxMediaChars: number = maxChars) {
    const logprobs = Math.floor(maxChars / charsOfLogprob);
    this.#room = { text: maxChars, media: maxMediaChars, logprobs };
  }

  add(event: CanonicalEvent): void {
    switch (event.type) {
      case "start":
        this.#start = { id: event.id, model: event.model, created: event.created };
        break;
      case "block-start": {
        if (this.#parts.size === maxOf.blocks) return this.#leaveOut("blocks");
        const part: AnswerPart = { ...event.content, text: "" };
        this.#parts.set(event.block, { part, pieces: [] });
        this.#choice(event.choice).parts.push(part);
        break;
      }
      case "block-delta":
        this.#append(event.block, event.text);
        if (event.logprobs) this.#appendLogprobs(event.choice, event.logprobs);
        break;
      case "finish":
        this.#choice(event.choice).finish = {
          reason: event.reason,
          raw: event.raw,
          ...(event.stopSequence === undefined ? {} : { stopSequence: event.stopSequence }),
        };
        break;
      case "usage":
        this.#usage = event.usage;
        break;
      case "own":
        this.#keepOwn(event);
        break;
      case "block-end": {
        const open = this.#parts.get(event.block);
        const part = open?.part;
        if (part?.kind === "tool-call" && !part.custom) this.#countNames(open!);
        if (part && event.opaque) part.opaque = event.opaque;
        if (part && event.own && this.#fits(event.own)) part.own = event.own;
        break;
      }
      case "citation": {
        const part = this.#parts.get(event.block)?.part;
        if (part && ++this.#citations > maxOf.citations) return this.#leaveOut("citations");
        if (part) (part.citations ??= []).push(event.citation);
        break;
      }
      case "error":
        break;
    }
  }

  /** The answer so far; choices are ordered by index. */
  answer(): CanonicalAnswer {
    for (const { part, pieces } of this.#parts.values()) part.text = pieces.join("");
    return {
      ...this.#start,
      ...this.#own,
      choices: [...this.#choices.values()].sort((a, b) => a.index - b.index),
      usage: this.#usage,
      truncated: this.#truncated,
      ...(this.#lacksLogprobs ? { lacksLogprobs: true } : {}),
    };
  }

  /** Which elements exceeded their limit; the excess was dropped and the answer is truncated. */
  get excess(): keyof typeof maxOf | undefined {
    return this.#excess;
  }

  /** Arguments that can't be parsed with those before are dropped. */
  #countNames(open: OpenPart): void {
    open.pieces = [open.pieces.join("")];
    if (this.#names.add(open.pieces[0]!)) return;
    open.pieces = [];
    this.#leaveOut("names");
  }

  #leaveOut(what: keyof typeof maxOf): void {
    this.#excess = what;
    this.#truncated = true;
  }

  #choice(index: number): CanonicalChoice {
    let choice = this.#choices.get(index);
    if (!choice) {
      choice = { index, parts: [], logprobs: undefined, finish: undefined };
      this.#choices.set(index, choice);
    }
    return choice;
  }

  #append(block: number, text: string): void {
    if (this.#truncated) return;
    const open = this.#parts.get(block);
    const of = open?.part.kind === "media" ? "media" : "text";
    const fitting = beginning(text, this.#room[of]);
    if (fitting.length < text.length) this.#truncated = true;
    this.#room[of] -= fitting.length;
    if (fitting !== "") open?.pieces.push(fitting);
  }

  /** Own fields count as text. */
  #fits(own: DialectFields): boolean {
    const length = lengthOf(own.fields, this.#room.text);
    if (length > this.#room.text) {
      this.#truncated = true;
      return false;
    }
    this.#room.text -= length;
    return true;
  }

  #keepOwn({ choice, own }: DialectFieldsEvent): void {
    if (!this.#fits(own)) return;
    if (choice === undefined) this.#own.own = own;
    else this.#choice(choice).own = own;
  }

  /** Those that no longer fit are left out, and all that follow; the text is not. */
  #appendLogprobs(choice: number, logprobs: readonly TokenLogprob[]): void {
    if (this.#truncated || this.#lacksLogprobs) return;
    this.#room.logprobs -= countLogprobs(logprobs);
    this.#lacksLogprobs = this.#room.logprobs < 0;
    if (this.#lacksLogprobs) return;
    const target = this.#choice(choice);
    target.logprobs ??= [];
    this.#logprobs += logprobs.length;
    if (this.#logprobs > maxOf.logprobs) return this.#leaveOut("logprobs");
    pushAll(target.logprobs, logprobs);
  }
}

/** No real answer has more; the limits bound work and memory. */
export const maxBlocks = 20_000;
export const maxCitations = 20_000;
const maxOf = {
  ...{ blocks: maxBlocks, citations: maxCitations, logprobs: 500_000, names: maxArgumentNames },
} as const;

/** A token with its log-probability as JSON, roughly. */
const charsOfLogprob = 64;

/** Deeper values may be too deep for `JSON.stringify`. */
const maxDepth = 1000;

/**
 * Returns the approximate length of a value's JSON text in UTF-16 units; Infinity if it is nested
 * deeper than `maxDepth`. Stops counting beyond `most`: the log-probabilities of one answer may be
 * a hundred megabytes.
 */
function lengthOf(value: unknown, most: number, depth = 0): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return String(value).length;
  if (depth === maxDepth) return Infinity;
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.entries(value).flat();
  let length = 2;
  for (const one of inner) {
    if (length > most) break;
    length += lengthOf(one, most - length, depth + 1) + 1;
  }
  return length;
}

/**
 * Folds a complete list of events without a limit on its text. Throws if another limit is exceeded.
 */
export function foldEvents(events: readonly CanonicalEvent[]): CanonicalAnswer {
  return finish(foldInSteps(events));
}

/** The same in steps. */
export function* foldInSteps(events: readonly CanonicalEvent[]): Steps<CanonicalAnswer> {
  const fold = new Fold(Number.MAX_SAFE_INTEGER);
  for (const slice of eventSlices(events)) {
    for (const event of slice) fold.add(event);
    const { excess } = fold;
    if (excess) throw unreadableAnswer(`an answer with more than ${maxOf[excess]} ${excess}`);
    yield;
  }
  return fold.answer();
}

/** Events in slices that take a few milliseconds to fold: arguments are searched for names. */
export function eventSlices(events: readonly CanonicalEvent[]): CanonicalEvent[][] {
  let slice: CanonicalEvent[] = [];
  const slices = [slice];
  let units = 0;
  for (const event of events) {
    if (slice.length === eventsPerSlice || units > unitsPerSlice) {
      slices.push(slice = []);
      units = 0;
    }
    slice.push(event);
    if (event.type === "block-delta") units += event.text.length;
  }
  return slices;
}

const eventsPerSlice = 512;
/** UTF-16 units. */
const unitsPerSlice = 1024 * 1024;

import {
  count,
  frames,
  GrammarError,
  has,
  hasOnly,
  isObject,
  type Json,
  json,
  list,
  must,
  object,
  text,
  textOf,
  words,
} from "./frames.ts";
import {
  type AnswerChoice,
  type AnswerContent,
  type AnswerUsage,
  newChoice,
} from "./answer_content.ts";

/**
 * Checks a generate stream, as server-sent events or as one JSON array, against generate-content.md
 * §4, §5 and §7, and returns what it says. Throws GrammarError.
 */
export function checkGenerateStream(
  stream: string | Uint8Array,
  form: "sse" | "array",
): AnswerContent {
  const walk = new GenerateWalk();
  const elements = form === "sse" ? sseElements(textOf(stream)) : arrayElements(textOf(stream));
  for (const element of elements) walk.take(element);
  return walk.end();
}

function sseElements(stream: string): Json[] {
  // A failed stream may end with an unfinished comment: it makes the official client throw, which
  // would skip the error event otherwise.
  const [whole] = /^(?:[^]*\n\r?\n)?(?=:[^\n]*$)/.exec(stream) ?? [stream];
  const elements = frames(whole).map(({ event, data }) => {
    must(event === undefined, "an event: line in a generate stream");
    must(data !== "[DONE]", "[DONE] in a generate stream");
    return json(data);
  });
  const failed = elements.at(-1) !== undefined && "error" in elements.at(-1)!;
  must(whole === stream || failed, "the last event lacks its blank line");
  return elements;
}

function arrayElements(stream: string): Json[] {
  let value: unknown;
  try {
    value = JSON.parse(stream);
  } catch {
    throw new GrammarError("the stream is not one JSON value");
  }
  return list(value, "the stream").map((one) => object(one, "element"));
}

type Finish = Exclude<AnswerChoice["finish"], undefined>;

/** Reasons of candidates that ended well or were cut; after calls `stop` means `tool_calls`. */
const finishReasons: Readonly<Record<string, Finish>> = {
  STOP: "stop",
  OTHER: "stop",
  FINISH_REASON_UNSPECIFIED: "stop",
  NO_IMAGE: "stop",
  IMAGE_OTHER: "stop",
  MALFORMED_FUNCTION_CALL: "stop",
  MALFORMED_RESPONSE: "stop",
  MISSING_THOUGHT_SIGNATURE: "stop",
  UNEXPECTED_TOOL_CALL: "stop",
  TOO_MANY_TOOL_CALLS: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  LANGUAGE: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
  ESCALATION: "content_filter",
  PUP_LIMITED_DISABLED: "content_filter",
  MODEL_ARMOR: "content_filter",
};

const dataMembers = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];

const elementKeys = [
  "candidates",
  "promptFeedback",
  "usageMetadata",
  "modelVersion",
  "responseId",
  "createTime",
];

const canonicalStatus = /^[A-Z]+(_[A-Z]+)*$/;

class GenerateWalk {
  readonly #choices: AnswerChoice[] = [];
  #head: string | undefined;
  #blocked = false;
  #usage: AnswerUsage | undefined;
  /** Whether the latest element had usage: the last one must have it. */
  #usageLast = false;
  #error: AnswerContent["error"];

  take(element: Json): void {
    must(!this.#error, "something follows the error");
    if ("error" in element) {
      this.#error = readError(element);
      return;
    }
    hasOnly(element, "element", elementKeys);
    const head = JSON.stringify([
      words(element.modelVersion, "modelVersion"),
      words(element.responseId, "responseId"),
    ]);
    this.#head ??= head;
    must(head === this.#head, "modelVersion or responseId changed");
    if (isObject(element.promptFeedback)) this.#blocked = "blockReason" in element.promptFeedback;
    for (const one of list(element.candidates ?? [], "candidates")) {
      this.#candidate(object(one, "candidate"));
    }
    // Every element has it; only the last one's has to say something.
    const usage = object(element.usageMetadata, "usage");
    this.#usageLast = Object.keys(usage).length > 0;
    if (this.#usageLast) this.#takeUsage(readUsage(usage));
  }

  end(): AnswerContent {
    if (!this.#error) {
      must(this.#choices.length > 0 || this.#blocked, "no candidate at all");
      for (const choice of this.#choices) must(choice?.finish, "a candidate without finishReason");
      must(this.#usageLast, "the last element has no usage");
    }
    return {
      ending: this.#error ? "failed" : "finished",
      choices: this.#choices,
      usage: this.#usage,
      error: this.#error,
    };
  }

  #takeUsage(usage: AnswerUsage): void {
    must(usage.output >= (this.#usage?.output ?? 0), "usage goes down");
    this.#usage = usage;
  }

  #candidate(candidate: Json): void {
    const index = count(candidate.index ?? 0, "index");
    const said = this.#choices[index] ??= newChoice();
    must(!said.finish, "something follows the finish of a candidate");
    const isLast = "finishReason" in candidate;
    if ("content" in candidate) {
      const content = object(candidate.content, "content");
      must(content.role === "model", "role is not model");
      for (const part of list(content.parts, "parts")) {
        readCandidatePart(part, said);
      }
    } else {
      must(isLast || "groundingMetadata" in candidate, "a candidate says nothing");
    }
    if (isLast) said.finish = finishOf(candidate.finishReason, said);
  }
}

/** Reads a part of a candidate. It must not be empty: client libraries would drop it. */
export function readCandidatePart(value: unknown, said: AnswerChoice): void {
  const part = object(value, "part");
  const members = dataMembers.filter((key) => key in part);
  must(members.length === 1, `a part with ${members.length} data members`);
  hasOnly(part, "part", [...members, "thought", "thoughtSignature"]);
  if (members[0] === "text") {
    const words = text(part.text, "part.text");
    must(words !== "" || "thoughtSignature" in part, "an empty text part");
    if (part.thought === true) said.reasoning += words;
    else said.text += words;
  }
  if (members[0] === "inlineData") {
    const { mimeType, data } = object(part.inlineData, "inlineData");
    words(mimeType, "mimeType");
    words(data, "data");
  }
  if (members[0] === "functionCall") readCall(object(part.functionCall, "functionCall"), said);
}

function readCall(call: Json, said: AnswerChoice): void {
  hasOnly(call, "functionCall", ["id", "name", "args"]);
  const id = "id" in call ? words(call.id, "functionCall.id") : "";
  must(id === "" || said.calls.every((one) => one.id !== id), "two calls have one id");
  const input = JSON.stringify(object(call.args, "functionCall.args"));
  said.calls.push({ id, name: words(call.name, "functionCall.name"), input, custom: false });
}

/** Returns what a `finishReason` means, given the candidate's calls. */
export function finishOf(reason: unknown, said: AnswerChoice): Finish {
  const raw = text(reason, "finishReason");
  must(Object.hasOwn(finishReasons, raw), `unknown finishReason ${raw}`);
  const finish = finishReasons[raw]!;
  return finish === "stop" && said.calls.length > 0 ? "tool_calls" : finish;
}

/** Reads usage by §4.1: thoughts are counted beside visible output, and the total must add up. */
export function readUsage(usage: Json): AnswerUsage {
  const of = (key: string) => count(usage[key] ?? 0, key);
  const input = of("promptTokenCount") + of("toolUsePromptTokenCount");
  const output = of("candidatesTokenCount") + of("thoughtsTokenCount");
  must(usage.totalTokenCount === input + output, "totalTokenCount is not the sum");
  const cacheRead = of("cachedContentTokenCount");
  must(cacheRead <= input, "more cached tokens than prompt tokens");
  return { input, cacheRead, output };
}

/** Reads an error. In a stream `code` is the status as a number, which official clients read. */
function readError(element: Json): { code: string; message: string } {
  hasOnly(element, "error element", ["error"]);
  const error = object(element.error, "error");
  has(error, "error", ["code", "message", "status", "type", "reason"]);
  must(error.code === Math.trunc(Number(error.code)), "error.code is no number");
  must(/^[45]\d\d$/.test(String(error.code)), "error.code is no status");
  must(canonicalStatus.test(text(error.status, "error.status")), "status is no canonical name");
  words(error.type, "error.type");
  return {
    code: words(error.reason, "error.reason"),
    message: words(error.message, "error.message"),
  };
}

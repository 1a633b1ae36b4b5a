/** What has to survive translation, and what a dialect has no words for. */
import type {
  AnswerPart,
  CanonicalAnswer,
  CanonicalChoice,
} from "../../src/dialects/kernel/canonical.ts";
import type { FinishReason } from "../../src/shared/interaction.ts";
import type { AnswerContent } from "../support/grammar/answer_content.ts";
import type { Name } from "./translated.ts";

export interface Facts {
  choices: ChoiceFacts[];
  /** Undefined: the vendor reported none, so what the caller sees is an estimate. */
  usage: { input: number; cacheRead: number; output: number } | undefined;
}

export interface ChoiceFacts {
  text: string;
  reasoning: string;
  refusal: string;
  calls: { name: string; input: unknown }[];
  finish: FinishReason | undefined;
}

/** Facts of an answer in the neutral form. */
export function factsOf(answer: CanonicalAnswer): Facts {
  const { usage } = answer;
  return {
    choices: answer.choices.map(choiceFacts),
    usage: usage && { input: usage.input, cacheRead: usage.cacheRead ?? 0, output: usage.output },
  };
}

/** The same facts as the grammar read them off the wire. */
export function factsSaid(said: AnswerContent): Facts {
  return {
    choices: said.choices.map(({ text, reasoning, refusal, calls, finish }) => ({
      text,
      reasoning,
      refusal,
      calls: calls.map(({ name, input, custom }) => ({ name, input: value(input, custom) })),
      finish,
    })),
    usage: said.usage,
  };
}

/**
 * What a caller of the dialect gets to see of a streamed answer, where its dialect can't say all of
 * it (translation.md §6, §10, §11).
 */
export function shownIn(caller: Name, answer: CanonicalAnswer): Facts {
  const facts = factsOf({ ...answer, choices: answer.choices.map((one) => shown(caller, one)) });
  // Only chat and generate have several answers.
  const isSingle = caller === "messages" || caller === "responses";
  return { ...facts, choices: isSingle ? facts.choices.slice(0, 1) : facts.choices };
}

/** The same of a whole answer: in messages, arguments that were cut short need an object. */
export function shownWhole(caller: Name, answer: CanonicalAnswer): Facts {
  const facts = shownIn(caller, answer);
  if (caller !== "messages") return facts;
  const choices = facts.choices.map((choice) => ({
    ...choice,
    calls: choice.calls.map(({ name, input }) => {
      const cut = (input as { cut?: unknown } | null)?.cut;
      return { name, input: typeof cut === "string" ? { _raw: cut } : input };
    }),
  }));
  return { ...facts, choices };
}

/**
 * In which order the first choice speaks, thinks and calls, as a caller of the dialect gets to see
 * it; neighbours of one kind are one, but each call counts.
 */
export function orderIn(caller: Name, answer: CanonicalAnswer): string[] {
  const choice = answer.choices[0];
  const parts = choice ? shown(caller, choice).parts : [];
  const kinds = parts
    .filter(({ kind, text }) => kind === "tool-call" || (isWords(kind) && text !== ""))
    .map(({ kind }) => kind);
  return kinds.filter((kind, at) => kind === "tool-call" || kind !== kinds[at - 1]);
}

function isWords(kind: AnswerPart["kind"]): boolean {
  return kind === "text" || kind === "reasoning";
}

function shown(caller: Name, choice: CanonicalChoice): CanonicalChoice {
  const refused = choice.parts.some(({ kind }) => kind === "refusal");
  const { finish } = choice;
  const parts = choice.parts.flatMap((part) => shownPart(caller, part, finish?.reason));
  // A refusal is a way to end, not a text, in these two.
  const asFilter = refused && finish &&
    (caller === "messages" || (caller === "generate" && finish.reason === "stop"));
  return asFilter
    ? { ...choice, parts, finish: { ...finish, reason: "content_filter" } }
    : { ...choice, parts };
}

function shownPart(
  caller: Name,
  part: AnswerPart,
  finish: FinishReason | undefined,
): AnswerPart[] {
  if (caller === "chat" || caller === "responses") return [part];
  switch (part.kind) {
    case "tool-call": {
      // Free text of a custom tool is the one property of a function's arguments.
      const text = part.custom ? JSON.stringify({ input: part.text }) : part.text;
      const isCut = caller === "generate" && finish === "length" && !isObject(value(text, false));
      return isCut ? [] : [{ ...part, text, custom: false }];
    }
    case "refusal":
      return caller === "generate" ? [{ ...part, kind: "text" }] : [part];
    case "media":
      if (caller === "generate") return [part];
      return [{ kind: "text", text: `[${part.media} left out: ${part.mimeType}]` }];
    default:
      return [part];
  }
}

function choiceFacts(choice: CanonicalChoice): ChoiceFacts {
  const textOf = (kind: string) =>
    choice.parts.filter((part) => part.kind === kind).map(({ text }) => text).join("");
  return {
    text: textOf("text"),
    reasoning: textOf("reasoning"),
    refusal: textOf("refusal"),
    calls: choice.parts.flatMap((part) =>
      part.kind === "tool-call" ? [{ name: part.name, input: value(part.text, part.custom) }] : []
    ),
    finish: choice.finish?.reason,
  };
}

/** Arguments as their value; as text where they are none, which only the output limit leaves. */
function value(text: string, custom: boolean): unknown {
  if (custom) return { custom: text };
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return { cut: text };
  }
}

function isObject(json: unknown): boolean {
  return typeof json === "object" && json !== null && !("cut" in json);
}

import { type Medium } from "./media.ts";
import { describeMedium } from "./media.ts";
import { hash } from "./tokens.ts";
import { withoutMagicWords } from "./behaviours.ts";

const OPENINGS = [
  "Gern geschehen – let me answer that.",
  "Here is a short answer.",
  "Good question! ✨",
  "Bien sûr, with pleasure.",
  "Let's take this step by step.",
];

const MIDDLES = [
  "A naïve reading misses the point: the details matter, from Zürich to 東京.",
  "Most people start with the simplest case and then add one idea at a time.",
  "There are three parts to it, and each of them is smaller than it looks.",
  "In practice it costs about 5 € and an afternoon, coffee ☕ included.",
  "The documentation says “it depends”, which is true but not helpful.",
];

const CLOSINGS = [
  "Tell me if you want more detail. 🙂",
  "That is the whole story.",
  "С уважением, your simulated model.",
  "I hope this helps! 🚀",
];

const QUOTED_WORDS = 8;

/** The last words of a text, without magic words, for quoting. */
export function lastWords(text: string): string {
  return withoutMagicWords(text).split(" ").slice(-QUOTED_WORDS).join(" ");
}

/** Returns a few sentences that quote the question and vary with the whole conversation. */
export function answerProse(question: string, salt: string, media: readonly Medium[]): string {
  const seed = hash(`${salt}\u0000${question}`);
  const sentences = [
    pick(OPENINGS, seed),
    `You asked: “${lastWords(question)}”.`,
    ...media.map(describeMedium),
    pick(MIDDLES, seed >>> 3),
    pick(CLOSINGS, seed >>> 7),
  ];
  return sentences.join(" ");
}

export interface ToolOutcome {
  name: string;
  text: string;
  isError: boolean;
  media: readonly Medium[];
}

const QUOTED_RESULT_CHARS = 400;

/** Sentences that use the results of tool calls. */
export function resultProse(question: string, outcomes: readonly ToolOutcome[]): string {
  const lines = outcomes.map((outcome) => {
    const text = [...outcome.text].slice(0, QUOTED_RESULT_CHARS).join("");
    const said = [text, ...outcome.media.map(describeMedium)].filter((part) => part !== "");
    return outcome.isError
      ? `The tool ${outcome.name} failed: ${said.join(" ")}.`
      : `According to ${outcome.name}: ${said.join(" ")}.`;
  });
  return `${lines.join(" ")} That answers “${lastWords(question)}” ✔.`;
}

const THOUGHTS = [
  "First I recall what I know about it.",
  "Then I check the units – m², °C and € are easy to mix up.",
  "A counterexample would be 北京, but it does not apply here.",
  "The short form is enough.",
];

/** Reasoning text of about the given number of sentences. */
export function reasoningProse(question: string, sentences: number): string {
  const lines = [`The user asks about “${lastWords(question)}”.`];
  for (let index = 0; index < sentences; index++) {
    lines.push(pick(THOUGHTS, index));
  }
  return lines.join(" ");
}

function pick(choices: readonly string[], seed: number): string {
  return choices[seed % choices.length] ?? "";
}

/**
 * Magic words in the last user text that make a simulated vendor misbehave, the same on each.
 *
 * `[error:429]` the vendor's own error · `[error:503x2]` twice, then success · `[slow:MS]` wait
 * before the first byte · `[drip:MS]` wait between chunks · `[cut]` break the connection in the
 * middle · `[cut:clean]` end without the terminal event · `[midstream-error]` in-band error ·
 * `[hang]` one chunk, then silence · `[long:N]` N chunks of text · `[say:TEXT]` answer exactly TEXT ·
 * `[echo-headers]` list the received header names · `[refuse]`, `[refuse:prompt]` a safety block ·
 * `[steps:N]` N rounds of tool calls before the text · `[filter:N]` N pictures are withheld ·
 * `[bytes:N]` each picture's file has at least N bytes · `[search:N]` N searches of the web, where
 * the vendor's own search is offered · `[at:vendor-b]` of these words, errors, waits and cuts happen
 * at this vendor alone: a fallback to another one answers.
 */
export interface Behaviours {
  error: { status: number; times: number | null } | null;
  slowMs: number;
  dripMs: number;
  ending: Ending;
  longChunks: number | null;
  say: string | null;
  echoHeaders: boolean;
  refusal: "answer" | "prompt" | null;
  toolSteps: number;
  /** Pictures that are withheld; all of them for a refusal. */
  filtered: number;
  /** Minimum size of a picture's file, in bytes. */
  minBytes: number;
  /** Number of web searches; null: depends on the question's words. */
  searches: number | null;
}

export type Ending = "normal" | "cut" | "cut-clean" | "error" | "hang";

const MOST_CHUNKS = 100_000;
const MOST_BYTES = 32 * 1024 * 1024;

/** Reads the behaviours that the text asks of the vendor `label`; normal without any. */
export function readBehaviours(text: string, label: string): Behaviours {
  const only = text.match(/\[at:([a-z0-9-]+)\]/)?.[1];
  const behaviours = readWords(text);
  if (only === undefined || only === label) return behaviours;
  return { ...behaviours, error: null, slowMs: 0, dripMs: 0, ending: "normal" };
}

function readWords(text: string): Behaviours {
  const error = text.match(/\[error:(\d{3})(?:x(\d+))?\]/);
  return {
    error: error
      ? { status: Number(error[1]), times: error[2] === undefined ? null : Number(error[2]) }
      : null,
    slowMs: numberOf(text, "slow") ?? 0,
    dripMs: numberOf(text, "drip") ?? 0,
    ending: readEnding(text),
    longChunks: limited(numberOf(text, "long")),
    say: text.match(/\[say:([^\]]*)\]/)?.[1] ?? null,
    echoHeaders: text.includes("[echo-headers]"),
    refusal: text.includes("[refuse:prompt]")
      ? "prompt"
      : text.includes("[refuse]")
      ? "answer"
      : null,
    toolSteps: numberOf(text, "steps") ?? 1,
    filtered: text.includes("[refuse") ? Infinity : numberOf(text, "filter") ?? 0,
    searches: numberOf(text, "search"),
    minBytes: Math.min(numberOf(text, "bytes") ?? 0, MOST_BYTES),
  };
}

/** Returns the text without its magic words, as the answers quote it. */
export function withoutMagicWords(text: string): string {
  return text
    .replace(
      /\[(?:(?:at|error|slow|drip|cut|long|say|refuse|steps|filter|bytes|search):[^\]]*|cut|hang|refuse)\]/g,
      " ",
    )
    .replace(/\[(?:midstream-error|echo-headers)\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

function readEnding(text: string): Ending {
  if (text.includes("[cut:clean]")) return "cut-clean";
  if (text.includes("[cut]")) return "cut";
  if (text.includes("[midstream-error]")) return "error";
  if (text.includes("[hang]")) return "hang";
  return "normal";
}

function numberOf(text: string, word: string): number | null {
  const found = text.match(new RegExp(`\\[${word}:(\\d+)\\]`));
  return found ? Number(found[1]) : null;
}

function limited(count: number | null): number | null {
  return count === null ? null : Math.min(count, MOST_CHUNKS);
}

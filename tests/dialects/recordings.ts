/** Recorded answers as vendors' bytes: where one ends, and what a clean end looks like. */
import { asRecord, isRecord } from "../../src/dialects/kernel/json.ts";
import { bytesOf, type Name } from "./translated.ts";

export type Payload = Record<string, unknown>;

export interface Recording {
  vendor: Name;
  name: string;
  text: string;
}

/** Files of `<folder>/<dialect>`, none where the folder isn't there. */
export function recordingsIn(folder: URL, vendor: Name, ending: string): Recording[] {
  const inside = new URL(`${vendor}/`, folder);
  try {
    return [...Deno.readDirSync(inside)]
      .filter(({ name }) => name.endsWith(ending))
      .map(({ name }) => ({ vendor, name, text: Deno.readTextFileSync(new URL(name, inside)) }))
      .toSorted((one, other) => one.name < other.name ? -1 : 1);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [];
    throw thrown;
  }
}

/** The payloads of a stream file, one a line; some files hold several answers after each other. */
export function answersOf(text: string): Payload[][] {
  const answers: Payload[][] = [];
  let id: unknown;
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    const payload: Payload = JSON.parse(line);
    const message = payload.message as Payload | undefined;
    const isNext = payload.type === "message_start" && message?.id !== id;
    if (isNext) id = message?.id;
    if (isNext || answers.length === 0) answers.push([]);
    answers.at(-1)!.push(payload);
  }
  return answers;
}

/** The frames of a stream as its vendor sends them, the chat dialect's end marker included. */
export function framesOf(vendor: Name, payloads: readonly Payload[]): Uint8Array[] {
  const frames = payloads.map((payload) => {
    const data = `data: ${JSON.stringify(payload)}`;
    if (vendor === "generate") return `${data}\r\n\r\n`;
    return vendor === "chat" ? `${data}\n\n` : `event: ${payload.type}\n${data}\n\n`;
  });
  if (vendor === "chat") frames.push("data: [DONE]\n\n");
  return frames.map(bytesOf);
}

/** How far a stream has come, read from its payloads alone. */
export interface Progress {
  /** It has a finish reason: a clean close here is a whole answer. */
  finished: boolean;
  /** Nothing is missing, whatever the connection does. */
  terminated: boolean;
}

/**
 * The progress after each of the frames of `framesOf` (translation.md §13, Truncation), where so many
 * choices were asked for.
 */
export function progressOf(vendor: Name, payloads: readonly Payload[], asked = 1): Progress[] {
  const choices = new Map<unknown, boolean>();
  const progress: Progress[] = [];
  let finished = false;
  let terminated = false;
  for (const payload of payloads) {
    const type = String(payload.type);
    if (vendor === "chat" || vendor === "generate") {
      for (const [index, ended] of endings(vendor, payload)) {
        choices.set(index, choices.get(index) === true || ended);
      }
      finished = choices.size >= asked && [...choices.values()].every((ended) => ended);
      terminated ||= finished && hasUsage(vendor, payload);
    }
    if (vendor === "messages") {
      finished ||= saysStop(payload.delta) || saysStop(payload.message) || type === "message_stop";
      terminated ||= type === "message_stop" || (finished && isRecord(payload.usage));
    }
    if (vendor === "responses") {
      finished ||= /^response\.(completed|incomplete)$/.test(type);
      terminated = finished;
    }
    progress.push({ finished, terminated });
  }
  if (vendor === "chat") progress.push({ finished, terminated: true });
  return progress;
}

function hasUsage(vendor: "chat" | "generate", { usage, usageMetadata, x_groq }: Payload): boolean {
  return vendor === "chat"
    ? isRecord(usage ?? asRecord(x_groq).usage)
    : usageMetadata !== undefined;
}

/** Indexes of the choices that a payload speaks of, and whether it ends them. */
function endings(vendor: "chat" | "generate", payload: Payload): [unknown, boolean][] {
  const list = (vendor === "chat" ? payload.choices : payload.candidates) as Payload[] | undefined;
  const blocked = (payload.promptFeedback as Payload | undefined)?.blockReason;
  if (!list && typeof blocked === "string") return [["blocked", true]];
  const key = vendor === "chat" ? "finish_reason" : "finishReason";
  return (list ?? []).map((one, position) => [one.index ?? position, Boolean(one[key])]);
}

function saysStop(value: unknown): boolean {
  return typeof value === "object" && value !== null && "stop_reason" in value &&
    typeof value.stop_reason === "string";
}

import { flatMapInSteps, forEachInSteps, mapInSteps, type Steps } from "../../../../base/steps.ts";
import { type Fault, invalidValue } from "../../../../shared/fault.ts";
import type {
  CanonicalRequest,
  Loss,
  MediaPart,
  Opaque,
  Part,
  SystemText,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from "../../../kernel/canonical_request.ts";
import { callArguments } from "../../../kernel/call_arguments.ts";
import { innerJson, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { leftOutNote } from "../../../kernel/media_source.ts";
import { noUserTurn } from "../../../kernel/no_user_turn.ts";
import { signatureSentinel } from "../../../kernel/reasoning.ts";
import { readArguments } from "../../../kernel/read_arguments.ts";
import { mediaPart } from "./encode_media.ts";
import { signatureOf } from "../answer/encode_parts.ts";
import type { ModelTraits } from "../models.ts";

interface EncodedContents {
  contents: Content[];
  /** System texts: those before the turns, then those between them. */
  system: SystemText[];
}

interface Content {
  role: "user" | "model";
  parts: Record<string, unknown>[];
}

interface ContentContext {
  traits: ModelTraits;
  aliasOf: (name: string) => string;
  losses: Loss[];
}

/** Writes turns as `contents`: roles alternate, and results have the order of their calls. */
export function* writeContents(
  request: CanonicalRequest,
  context: ContentContext,
): Steps<EncodedContents> {
  const hoisted = request.turns.filter(({ role }) => role === "system").flatMap(systemTexts);
  const conversation = request.turns.filter(({ role }) => role !== "system");
  const turns = yield* mergeTurns(conversation, context.losses);
  const contents: Content[] = [];
  let calls: ToolCallPart[] = [];
  for (const turn of turns) {
    yield;
    const results = turn.parts.filter((part) => part.type === "tool-result");
    const ordered = yield* matchResults(calls, results, turn.path);
    const rest = results.length === 0
      ? turn.parts
      : turn.parts.filter((part) => part.type !== "tool-result");
    calls = rest.filter((part) => part.type === "tool-call");
    const parts = turn.role === "user"
      ? yield* writeUserTurn(ordered, rest, context)
      : yield* writeModelTurn(rest, context);
    if (parts.length > 0) contents.push({ role: turn.role === "user" ? "user" : "model", parts });
  }
  if (calls.length > 0) throw missingResults(calls);
  if (contents.at(-1)?.role === "model" && asksAnew(request.turns)) contents.push(continuing());
  if (!contents.some(({ role }) => role === "user")) throw noUserTurn(request);
  if (contents[0]?.role === "model") contents.unshift(continuing());
  return {
    contents,
    system: [...request.system, ...hoisted].filter(({ text }) => text !== ""),
  };
}

/**
 * Whether the conversation ends with system texts. After an assistant turn these ask for a new
 * answer, which the vendor's newest models refuse to give right after a turn of their own.
 */
function asksAnew(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  return last?.role === "system" && systemTexts(last).some(({ text }) => text.trim() !== "");
}

/** Returns a user turn for places where the vendor requires one and the conversation has none. */
function continuing(): Content {
  return { role: "user", parts: [{ text: "(continue)" }] };
}

/**
 * Merges adjacent turns of the same role; empty assistant turns are dropped, any other empty turn
 * throws `invalid_value`.
 */
function* mergeTurns(turns: readonly Turn[], losses: Loss[]): Steps<Turn[]> {
  const merged: Turn[] = [];
  for (const turn of turns) {
    yield;
    if (turn.name !== undefined) losses.push({ path: `${turn.path}.name`, weight: "hint" });
    const parts = turn.parts.filter(isWritable);
    if (parts.length === 0) {
      if (turn.role === "assistant") continue;
      throw invalidValue(turn.path, "the message has no content");
    }
    const last = merged.at(-1);
    // The list was created here, by `filter`.
    if (last?.role === turn.role) { for (const part of parts) last.parts.push(part); }
    else merged.push({ ...turn, parts });
  }
  return merged;
}

/** Whether a part is written. Reasoning is written only if a vendor of this dialect signed it. */
function isWritable(part: Part): boolean {
  if (part.type === "text") return part.text !== "" || signatureOf(part.opaque) !== undefined;
  if (part.type === "reasoning") {
    return signatureOf(part.opaque) !== undefined || blockOf(part.opaque) !== undefined;
  }
  return part.type !== "refusal" || part.text !== "";
}

function systemTexts(turn: Turn): SystemText[] {
  return turn.parts.map((part) => {
    if (part.type !== "text") throw invalidValue(part.path, "a system text was expected");
    return { text: part.text, path: part.path };
  });
}

interface Answered {
  call: ToolCallPart;
  result: ToolResultPart;
}

/** Pairs calls with their results, in the order of the calls: the vendor matches by position. */
function* matchResults(
  calls: readonly ToolCallPart[],
  results: readonly ToolResultPart[],
  path: string,
): Steps<Answered[]> {
  const left = new Set(results);
  const byId = new Map<string, ToolResultPart[]>();
  // Reversed, so that `pop` takes the first result of an id.
  yield* forEachInSteps(results.toReversed(), (result) => {
    const same = byId.get(result.callId);
    if (same) same.push(result);
    else byId.set(result.callId, [result]);
  });
  const unanswered: ToolCallPart[] = [];
  const answered = yield* flatMapInSteps(calls, (call): Answered[] => {
    const result = byId.get(call.id)?.pop();
    if (!result) {
      unanswered.push(call);
      return [];
    }
    left.delete(result);
    return [{ call, result }];
  });
  const [stray] = left;
  if (stray) throw invalidValue(stray.path, `no call before it has the id '${stray.callId}'`);
  if (unanswered.length > 0) throw missingResults(unanswered, path);
  return answered;
}

function missingResults(calls: readonly ToolCallPart[], path = calls[0]!.path): Fault {
  const ids = calls.map(({ id }) => `'${id}'`).join(", ");
  return invalidValue(path, `results are missing for the tool calls ${ids}`);
}

function* writeUserTurn(
  answered: readonly Answered[],
  rest: readonly Part[],
  context: ContentContext,
): Steps<Record<string, unknown>[]> {
  // Results and calls may be JSON, each of which takes milliseconds to parse.
  const responses = yield* mapInSteps(answered, (one) => writeResponse(one, context), 1);
  // Before generation 3 a result can't hold media: it follows the results, with a note naming the
  // call.
  const separate = context.traits.generation >= 3 ? [] : answered;
  const beside = yield* flatMapInSteps(separate, ({ call, result }) => {
    const media = writeMedia(result, context);
    const intro = {
      text: `Returned by the tool call ${call.id} of ${context.aliasOf(call.name)}:`,
    };
    return media.length === 0 ? [] : [intro, ...media];
  });
  const written = yield* flatMapInSteps(rest, (part) => writePart(part, context));
  return [...responses, ...beside, ...written];
}

function writeResponse(
  { call, result }: Answered,
  context: ContentContext,
): Record<string, unknown> {
  // `FunctionResponsePart` has no resolution, and the vendor refuses fields that it doesn't know.
  const media = context.traits.generation >= 3 ? writeMedia(result, context, false) : [];
  return {
    functionResponse: {
      ...(context.traits.signatures ? { id: call.id } : {}),
      name: context.aliasOf(call.name),
      response: responseObject(result),
      ...(media.length > 0 ? { parts: media } : {}),
    },
  };
}

/** Returns a result as an object, which the dialect requires. */
function responseObject(result: ToolResultPart): JsonRecord {
  if (result.object) return result.object;
  const texts = result.parts.filter((part) => part.type === "text").map(({ text }) => text);
  const text = texts.join("\n");
  if (result.isError) return { error: text };
  if (texts.length === 0 && result.parts.length > 0) return {};
  const object = text.trim() === "" ? undefined : readArguments({ text });
  return object ?? { output: text };
}

function writeMedia(
  result: ToolResultPart,
  context: ContentContext,
  takesLevel?: boolean,
): Record<string, unknown>[] {
  return result.parts.flatMap((part) =>
    part.type === "media" ? writeMedium(part, context, takesLevel) : []
  );
}

function writeMedium(
  part: MediaPart,
  context: ContentContext,
  takesLevel = context.traits.generation >= 3,
): Record<string, unknown>[] {
  const written = mediaPart(part, takesLevel, context.losses);
  return written ? [written] : [];
}

/** Writes an assistant turn. Its first call needs a signature, if the model requires one. */
function* writeModelTurn(
  parts: readonly Part[],
  context: ContentContext,
): Steps<Record<string, unknown>[]> {
  const written = yield* flatMapInSteps(parts, (part) => writePart(part, context), 1);
  const first = written.find((part) => part.functionCall !== undefined);
  if (context.traits.signatures && first && first.thoughtSignature === undefined) {
    first.thoughtSignature = signatureSentinel;
  }
  return written;
}

function writePart(part: Part, context: ContentContext): Record<string, unknown>[] {
  switch (part.type) {
    case "text":
      return [{ text: part.text, ...signatureOf(part.opaque) }];
    case "refusal":
      return [{ text: part.text }];
    case "reasoning":
      return [
        blockOf(part.opaque) ??
          { text: part.text, thought: true, ...signatureOf(part.opaque) },
      ];
    case "tool-call":
      return [writeCall(part, context)];
    case "media": {
      const written = writeMedium(part, context);
      return written.length > 0 ? written : [{ text: leftOutNote(part) }];
    }
    case "tool-result":
      throw new Error("results are written with their calls");
  }
}

/** Returns a part of vendor-side work, which is sent back unchanged. */
function blockOf(opaque: Opaque | undefined): Record<string, unknown> | undefined {
  if (opaque?.dialect !== "generate" || opaque.kind !== "block") return undefined;
  const value = innerJson(opaque.value);
  return isRecord(value) ? value : undefined;
}

function writeCall(part: ToolCallPart, context: ContentContext): Record<string, unknown> {
  return {
    functionCall: {
      ...(context.traits.signatures ? { id: part.id } : {}),
      name: context.aliasOf(part.name),
      args: callArguments(part),
    },
    ...signatureOf(part.opaque),
  };
}

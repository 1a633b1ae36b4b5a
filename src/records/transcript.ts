import { Buffer } from "node:buffer";
import { mendJson } from "../base/mend_json.ts";
import type { AnswerPart, CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import type { CanonicalRequest, MediaPart, Part } from "../dialects/kernel/canonical_request.ts";
import { decodeRecorded } from "../dialects/kernel/decode_recorded.ts";
import { foldEvents } from "../dialects/kernel/fold.ts";
import { inlineStoredMedia } from "./inline_stored_media.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import type { InteractionStatus } from "../shared/interaction.ts";
import { finish } from "../base/steps.ts";

/** A stored call as people read it: its turns in order, in the same form for every dialect. */
export interface Transcript {
  /** Undefined if the request is gone, or the dialect can't decode it. */
  request: { turns: ShownTurn[]; tools: ShownTool[]; settings: ShownSetting[] } | undefined;
  /** The choices of the answer; undefined as above. */
  answers: ShownAnswer[] | undefined;
}

export interface ShownTurn {
  role: "system" | "user" | "assistant" | "tool";
  name: string | undefined;
  parts: ShownPart[];
}

export interface ShownAnswer {
  parts: ShownPart[];
  /** The vendor's raw finish reason; undefined for an answer that broke off. */
  finish: string | undefined;
}

export type ShownPart =
  | { type: "text" | "reasoning" | "refusal"; text: string }
  /** `arguments` is JSON text, or free text of a custom tool. */
  | { type: "tool-call"; id: string; name: string; arguments: string }
  | { type: "tool-result"; callId: string; name: string; isError: boolean; parts: ShownPart[] }
  | { type: "media"; kind: MediaPart["kind"]; mimeType: string | undefined; source: ShownMedia }
  /** Output of the vendor's own tools, as JSON text. */
  | { type: "vendor"; text: string };

/** Where media is: in our store, as base64 in the payload, at an address, or at the vendor. */
export type ShownMedia =
  | { type: "stored"; sha256: string }
  | { type: "inline"; data: string }
  | { type: "address"; url: string }
  | { type: "vendor-file"; id: string };

export interface ShownTool {
  name: string;
  description: string | undefined;
  /** Its JSON schema, as text. */
  parameters: string | undefined;
}

export interface ShownSetting {
  name: string;
  value: string;
}

/** The stored content of a call. Without a status the answer is taken to be complete. */
export interface StoredContent {
  request: string | null;
  response: string | null;
  status?: InteractionStatus;
}

/**
 * Reads stored payloads: truncated ones as far as they go, with media by its hash. Never throws.
 */
export async function readTranscript(
  dialect: Dialect | undefined,
  payloads: StoredContent,
): Promise<Transcript> {
  if (!dialect) return { request: undefined, answers: undefined };
  const stored = new Map<string, string>();
  const named = async (text: string | null) => {
    if (text === null) return "";
    // The hash takes the place of the bytes, so that decoders find the base64 they expect.
    return await inlineStoredMedia(text, dialect.mediaFields, (sha256) => {
      const bytes = Buffer.from(sha256, "hex");
      stored.set(bytes.toString("base64"), sha256);
      return Promise.resolve(new Uint8Array(bytes));
    }) ?? text;
  };
  const mediaOf = (data: string): ShownMedia => {
    const sha256 = stored.get(data);
    return sha256 === undefined ? { type: "inline", data } : { type: "stored", sha256 };
  };
  const request = firstReadable(
    await named(payloads.request),
    (value) => decodeRecorded(dialect, value),
  );
  const answer = firstReadable(
    await named(payloads.response),
    (value) => wholeAnswer(foldEvents(finish(dialect.decodeAnswer(value, {})))),
  );
  // Decoders of whole answers replace a missing finish reason by the usual one.
  const hasEnded = (payloads.status ?? "completed") === "completed";
  return {
    request: request && {
      turns: turnsOf(request, mediaOf),
      tools: request.tools.map(({ name, description, parameters }) => ({
        name,
        description,
        parameters: parameters && JSON.stringify(parameters),
      })),
      settings: settingsOf(request),
    },
    answers: answer?.choices.map(({ parts, finish }) => ({
      parts: parts.map((part) => answerPart(part, mediaOf)),
      finish: hasEnded ? finish?.raw : undefined,
    })),
  };
}

/** A truncated payload may not fit the contract that decoders rely on: try less until one accepts. */
function firstReadable<T>(text: string, read: (value: unknown) => T): T | undefined {
  if (text === "") return undefined;
  for (const value of mendJson(text)) {
    try {
      return read(value);
    } catch {
      continue;
    }
  }
  return undefined;
}

/** An error body decodes to an answer without choices. */
function wholeAnswer(answer: CanonicalAnswer): CanonicalAnswer {
  if (answer.choices.length === 0) throw new Error("no answer");
  return answer;
}

function turnsOf(
  { system, turns }: CanonicalRequest,
  mediaOf: (data: string) => ShownMedia,
): ShownTurn[] {
  const names = new Map(
    turns.flatMap(({ parts }) => parts).filter((part) => part.type === "tool-call")
      .map((part) => [part.id, part.name]),
  );
  const first: ShownTurn[] = system.map(({ text }) => ({
    role: "system",
    name: undefined,
    parts: [{ type: "text", text }],
  }));
  const rest = turns.map(({ role, name, parts }): ShownTurn => ({
    role: parts.length > 0 && parts.every(({ type }) => type === "tool-result") ? "tool" : role,
    name,
    parts: parts.map((part) => requestPart(part, names, mediaOf)),
  }));
  return [...first, ...rest];
}

function requestPart(
  part: Part,
  names: ReadonlyMap<string, string>,
  mediaOf: (data: string) => ShownMedia,
): ShownPart {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "refusal":
      return { type: part.type, text: part.text };
    case "media": {
      const { kind, source } = part;
      const { mimeType } = source;
      return { type: "media", kind, mimeType, source: shownSource(source, mediaOf) };
    }
    case "tool-call":
      return { type: "tool-call", id: part.id, name: part.name, arguments: part.arguments };
    case "tool-result":
      return {
        type: "tool-result",
        callId: part.callId,
        name: part.name ?? names.get(part.callId) ?? "",
        isError: part.isError,
        parts: part.parts.map((one) => requestPart(one, names, mediaOf)),
      };
  }
}

function shownSource(
  source: MediaPart["source"],
  mediaOf: (data: string) => ShownMedia,
): ShownMedia {
  switch (source.type) {
    case "base64":
      return mediaOf(source.data);
    case "url":
      return { type: "address", url: source.url };
    case "vendor-file":
      return { type: "vendor-file", id: source.id };
  }
}

function answerPart(part: AnswerPart, mediaOf: (data: string) => ShownMedia): ShownPart {
  switch (part.kind) {
    case "text":
    case "reasoning":
    case "refusal":
      return { type: part.kind, text: part.text };
    case "tool-call":
      return { type: "tool-call", id: part.id, name: part.name, arguments: part.text };
    case "media":
      return {
        type: "media",
        kind: part.media,
        mimeType: part.mimeType,
        source: mediaOf(part.text),
      };
    case "vendor":
      return { type: "vendor", text: JSON.stringify(part.value ?? part.search) ?? "" };
  }
}

function settingsOf(request: CanonicalRequest): ShownSetting[] {
  const { reasoning, format, toolChoice } = request;
  const all: readonly (readonly [string, unknown])[] = [
    ["Max output tokens", request.maxOutputTokens],
    ["Temperature", request.temperature],
    ["Top p", request.topP],
    ["Top k", request.topK],
    ["Reasoning effort", reasoning?.effort],
    ["Reasoning tokens", reasoning?.budgetTokens],
    ["Format", format?.type === "json-schema" ? `JSON schema “${format.name}”` : format?.type],
    ["Tool choice", toolChoice && [toolChoice.mode, ...toolChoice.names ?? []].join(" ")],
    ["Parallel tool calls", request.parallelToolCalls],
    ["Stop", request.stop?.join(" · ")],
    ["Choices", request.choices],
    ["Seed", request.seed],
    ["Frequency penalty", request.frequencyPenalty],
    ["Presence penalty", request.presencePenalty],
    ["Verbosity", request.verbosity],
    ["Service tier", request.serviceTier],
  ];
  return all.flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: String(value) }]
  );
}

import type { CanonicalRequest, Part, Turn } from "../../src/dialects/kernel/canonical_request.ts";

/** Builds a canonical request; the functions below build its parts, for tests of dialects. */
export function canonicalRequest(parts: Partial<CanonicalRequest>): CanonicalRequest {
  return {
    model: "m",
    stream: false,
    system: [],
    turns: [],
    tools: [],
    unsupported: [],
    paths: {},
    ...parts,
  };
}

export function turn(role: Turn["role"], ...parts: Part[]): Turn {
  return { role, parts, path: "m" };
}

export function user(words: string): Turn {
  return turn("user", text(words));
}

export function assistant(...parts: Part[]): Turn {
  return turn("assistant", ...parts);
}

export function text(words: string): Extract<Part, { type: "text" }> {
  return { type: "text", text: words, path: "p" };
}

/** A call with the arguments `{"x":1}`. */
export function call(id: string, name: string): Extract<Part, { type: "tool-call" }> {
  return { type: "tool-call", id, name, arguments: '{"x":1}', custom: false, path: "p" };
}

export function result(callId: string, words: string): Extract<Part, { type: "tool-result" }> {
  return { type: "tool-result", callId, parts: [text(words)], isError: false, path: "r" };
}

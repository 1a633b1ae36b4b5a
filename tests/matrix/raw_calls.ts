import type { DialectName } from "../../contracts/calls/vendors.ts";
import { type Json, streamValues } from "./wire.ts";

export const dialectNames: readonly DialectName[] = ["chat", "responses", "messages", "generate"];

/** A request as any caller of this dialect would write it, below the service's address. */
export interface RawRequest {
  path: string;
  body: Record<string, unknown>;
}

/** The smallest request of a dialect on the unified family; `more` are further fields. */
export function rawRequest(
  dialect: DialectName,
  call: { model: string; prompt: string; stream: boolean; more?: Readonly<Json> },
): RawRequest {
  const { model, prompt, stream, more } = call;
  switch (dialect) {
    case "chat":
      return {
        path: "/chat/v1/chat/completions",
        body: { model, messages: [{ role: "user", content: prompt }], stream, ...more },
      };
    case "responses":
      return { path: "/chat/v1/responses", body: { model, input: prompt, stream, ...more } };
    case "messages":
      return {
        path: "/chat/v1/messages",
        body: {
          model,
          max_tokens: 4000,
          messages: [{ role: "user", content: prompt }],
          stream,
          ...more,
        },
      };
    case "generate": {
      const verb = stream ? "streamGenerateContent?alt=sse" : "generateContent";
      return {
        path: `/chat/v1beta/models/${model}:${verb}`,
        body: { contents: [{ role: "user", parts: [{ text: prompt }] }], ...more },
      };
    }
  }
}

/** The text of a whole answer or stream, put together as a client of the dialect would. */
export function answerText(dialect: DialectName, body: string, stream: boolean): string {
  const values = stream ? streamValues(body) : [JSON.parse(body) as Json];
  return values.map((value) => pieceOf(dialect, value, stream)).join("");
}

/** Whether an answer or stream ends as one that is complete. */
export function endsWell(dialect: DialectName, body: string, stream: boolean): boolean {
  const values = stream ? streamValues(body) : [JSON.parse(body) as Json];
  switch (dialect) {
    case "chat":
      return (stream && body.includes("[DONE]")) ||
        values.some((value) => at(value, "choices", 0, "finish_reason"));
    case "responses":
      return values.some(({ type, status }) =>
        ["response.completed", "response.incomplete"].includes(String(type)) ||
        ["completed", "incomplete"].includes(String(status))
      );
    case "messages":
      return values.some((value) =>
        value.type === "message_stop" || at(value, "delta", "stop_reason") || value.stop_reason
      );
    case "generate":
      return values.some((value) => at(value, "candidates", 0, "finishReason"));
  }
}

/** The error that ends a stream, as the dialect has it; undefined when the last event is none. */
export function finalError(dialect: DialectName, body: string): Json | undefined {
  const last = streamValues(body).at(-1) ?? {};
  const error = last.type === "response.failed"
    ? at(last, "response", "error")
    // The responses dialect has its error event flat.
    : last.type === "error" && dialect === "responses"
    ? last.error ?? last
    : last.error;
  return typeof error === "object" && error !== null ? error as Json : undefined;
}

function pieceOf(dialect: DialectName, value: Json, stream: boolean): string {
  switch (dialect) {
    case "chat":
      return String(at(value, "choices", 0, stream ? "delta" : "message", "content") ?? "");
    case "responses":
      return stream
        ? value.type === "response.output_text.delta" ? String(value.delta) : ""
        : list(value.output).flatMap((item) => list(item.content))
          .map(({ text }) => String(text ?? "")).join("");
    case "messages":
      return stream
        ? String(at(value, "delta", "text") ?? "")
        : list(value.content).map(({ text }) => String(text ?? "")).join("");
    case "generate":
      return list(at(value, "candidates", 0, "content", "parts"))
        .map(({ text, thought }) => thought ? "" : String(text ?? "")).join("");
  }
}

/** The value at a path; undefined where there is none. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let found = value;
  for (const step of path) {
    found = (found as Readonly<Record<string | number, unknown>> | null | undefined)?.[step];
  }
  return found;
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value as Json[] : [];
}

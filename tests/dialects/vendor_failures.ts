/** Failures as vendors tell them inside a stream that began well. */
import type { Name } from "./translated.ts";

/** Whole events, each of which ends the answer. */
export function failingEvents(vendor: Name): string[] {
  const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
  const named = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;
  const garbled = 'data: {"half": \n\n';
  const flat = { message: "Busy.", type: "server_error", code: "server_error", param: null };
  switch (vendor) {
    case "chat":
      return [
        garbled,
        data({ error: flat }),
        data({ error: "Busy." }),
        data([{ error: { code: 503, message: "Busy.", status: "UNAVAILABLE" } }]),
        data({
          id: "x",
          object: "chat.completion.chunk",
          error: { code: 502, message: "Busy." },
          choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
        }),
        data({ choices: [{ index: 0, delta: {}, finish_reason: "error" }] }),
      ];
    case "responses":
      return [
        garbled,
        named({ type: "error", ...{ code: "server_error", message: "Busy.", param: null } }),
        named({ type: "error", ...{ error: flat } }),
        named({ type: "error", ...{ error: { code: null, message: "Busy." } } }),
        data({ error: flat }),
        named({
          type: "response.failed",
          ...{ response: { status: "failed", error: { code: "server_error", message: "Busy." } } },
        }),
      ];
    case "messages":
      return [
        garbled,
        named({ type: "error", ...{ error: { type: "overloaded_error", message: "Busy." } } }),
        data({ type: "error", error: { type: "api_error", message: "Busy." } }),
        data({ error: { message: "Busy." } }),
      ];
    case "generate":
      return [
        garbled,
        data({ error: { code: 503, message: "Busy.", status: "UNAVAILABLE" } }),
        data([{ error: { code: 429, message: "Slow.", status: "RESOURCE_EXHAUSTED" } }]),
      ];
  }
}

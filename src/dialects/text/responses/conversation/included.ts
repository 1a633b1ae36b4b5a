import { Fault } from "../../../../shared/fault.ts";
import { asRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { storedOutput } from "./state.ts";

/**
 * A part of stored answers that `include` can name: the type of the items that have it, and its
 * values in an item.
 */
interface Included {
  readonly type: string;
  values(item: JsonRecord): readonly unknown[];
}

/** The names that OpenAI accepts in `include`. */
const included: ReadonlyMap<string, Included> = new Map([
  ["code_interpreter_call.outputs", member("code_interpreter_call", "outputs")],
  ["file_search_call.results", member("file_search_call", "results")],
  ["reasoning.encrypted_content", member("reasoning", "encrypted_content")],
  ["web_search_call.results", member("web_search_call", "results")],
  ["web_search_call.action.sources", {
    type: "web_search_call",
    // Actions that open a page, or search in one, have no sources.
    values: ({ action }) => asRecord(action).type === "search" ? [asRecord(action).sources] : [],
  }],
  ["message.output_text.logprobs", {
    type: "message",
    values: ({ content }) =>
      recordsIn(content).filter(({ type, text }) => type === "output_text" && text !== "")
        // If they weren't requested, the list is there, but empty.
        .map(({ logprobs }) => Array.isArray(logprobs) && logprobs[0]),
  }],
  // These occur only in requests, so that no answer lacks them.
  ["message.input_image.image_url", { type: "message", values: () => [] }],
  ["computer_call_output.output.image_url", { type: "computer_call_output", values: () => [] }],
]);

function member(type: string, name: string): Included {
  return { type, values: (item) => [item[name]] };
}

/**
 * Throws `unsupported_parameter` if a stored answer lacks a part that its reader wants included: an
 * answer is stored as its caller received it, and nothing can be requested afterwards.
 */
export function requireIncluded(answer: unknown, include: readonly string[]): void {
  const output = storedOutput(answer)?.output ?? [];
  for (const name of include) {
    const field = included.get(name);
    const isThere = field && output.filter(({ type }) => type === field.type)
      .every((item) => field.values(item).every(Boolean));
    if (isThere) continue;
    throw new Fault("unsupported_parameter", {
      param: "include",
      message: field
        ? `include: the response was stored without '${name}'; name it in 'include' when the ` +
          "response is created, or leave it out here."
        : `include: a stored response has no '${name.slice(0, 100)}'.`,
    });
  }
}

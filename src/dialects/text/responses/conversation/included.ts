import { Fault } from "../../../../shared/fault.ts";
import { asRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { storedOutput } from "./state.ts";

/** What `include` names in a stored answer: the type of its items, and its value at each place. */
interface Included {
  readonly type: string;
  values(item: JsonRecord): readonly unknown[];
}

/** Names that `include` may have at OpenAI. */
const included: ReadonlyMap<string, Included> = new Map([
  ["code_interpreter_call.outputs", member("code_interpreter_call", "outputs")],
  ["file_search_call.results", member("file_search_call", "results")],
  ["reasoning.encrypted_content", member("reasoning", "encrypted_content")],
  ["web_search_call.results", member("web_search_call", "results")],
  ["web_search_call.action.sources", {
    type: "web_search_call",
    // Pages that are opened and searched through have none.
    values: ({ action }) => asRecord(action).type === "search" ? [asRecord(action).sources] : [],
  }],
  ["message.output_text.logprobs", {
    type: "message",
    values: ({ content }) =>
      recordsIn(content).filter(({ type, text }) => type === "output_text" && text !== "")
        // Without them the list is there, and empty.
        .map(({ logprobs }) => Array.isArray(logprobs) && logprobs[0]),
  }],
  // These are in requests: an answer lacks none of them.
  ["message.input_image.image_url", { type: "message", values: () => [] }],
  ["computer_call_output.output.image_url", { type: "computer_call_output", values: () => [] }],
]);

function member(type: string, name: string): Included {
  return { type, values: (item) => [item[name]] };
}

/**
 * Throws `unsupported_parameter` where a stored answer lacks what its reader wants included: it is
 * stored as its caller received it, and can't be asked for afterwards.
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

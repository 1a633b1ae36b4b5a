import assert from "@std/assert";
import { requireIncluded } from "./included.ts";

const answer = (...output: unknown[]) => ({ id: "resp_1", output });
const text = (more: object) =>
  answer({ type: "message", content: [{ type: "output_text", text: "Hi.", ...more }] });
const reasoning = (encrypted_content?: string) =>
  answer({ type: "reasoning", id: "rs_1", ...(encrypted_content ? { encrypted_content } : {}) });
const search = (action: object) => answer({ type: "web_search_call", action });
const logprobs = "message.output_text.logprobs";
const sources = "web_search_call.action.sources";

/** What is included, an answer that has it or has no place for it, and one that lacks it. */
const rows: readonly [name: string, has: unknown[], lacks: unknown[]][] = [
  ["reasoning.encrypted_content", [reasoning("gAAA"), text({})], [reasoning()]],
  [
    logprobs,
    [text({ logprobs: [{ token: "Hi" }] }), reasoning(), text({ text: "" })],
    [text({ logprobs: [] }), text({})],
  ],
  [
    sources,
    [search({ type: "search", sources: [] }), search({ type: "open_page" }), text({})],
    [search({ type: "search" })],
  ],
  [
    "code_interpreter_call.outputs",
    [answer({ type: "code_interpreter_call", outputs: [] })],
    [answer({ type: "code_interpreter_call", outputs: null })],
  ],
  [
    "file_search_call.results",
    [answer({ type: "file_search_call", results: [] }), answer(), { id: "resp_1" }],
    [answer({ type: "file_search_call" })],
  ],
  ["message.input_image.image_url", [text({})], []],
  ["none.such", [], [text({}), answer()]],
];

Deno.test("a stored answer has what is to be included, or the refusal names it", () => {
  for (const [name, has, lacks] of rows) {
    for (const one of has) requireIncluded(one, [name]);
    for (const one of lacks) {
      assert.throws(() => requireIncluded(one, [name]), {
        code: "unsupported_parameter",
        param: "include",
      });
      assert.throws(
        () => requireIncluded(one, [name]),
        ({ message }: Error) => message.includes(`'${name}'`),
      );
    }
  }
});

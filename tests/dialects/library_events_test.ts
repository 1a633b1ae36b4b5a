/** Every event and delta that the libraries' streams may have changes what our decoders read. */
import assert from "@std/assert";
import { SseSplitter } from "../../src/base/sse.ts";
import type { Json } from "../support/library_types.ts";
import { samplesOf } from "./library_measure.ts";
import { bytesOf, dialects, type Name } from "./translated.ts";

/** One value of each `type` of a union. */
function membersOf(name: Name, union: string): Json[] {
  const values = samplesOf(name, union).map(({ value }) => value as Json);
  return [...new Map(values.map((value) => [value.type, value])).values()];
}

/** What a decoder reads of a stream that ends with these events. */
function read(name: Name, events: readonly Json[]): string {
  const decoder = dialects[name].createStreamDecoder({});
  const text = events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");
  const splitter = new SseSplitter({ maxEventBytes: 1_000_000 });
  const decoded = splitter.push(bytesOf(text)).map((event) => decoder.decode(event));
  return JSON.stringify([decoded.map(({ events, terminal }) => [events, terminal]), decoder.end()]);
}

/** Events that nothing is read of: what they tell comes again. By reason. */
const unreadEvents: Readonly<Record<string, readonly string[]>> = {
  "its item's end has all of it": [
    ...["code_interpreter_call_code.done", "mcp_call_arguments.done", "shell_call_command.added"],
    ...["shell_call_command.done", "shell_call_output_content.delta"],
    ...["shell_call_output_content.done"],
    ...["image_generation_call.partial_image", "content_part.added"],
  ],
  "says how far the vendor's work is": [
    ...["code_interpreter_call", "file_search_call", "web_search_call", "image_generation_call"]
      .flatMap((call) => [`${call}.in_progress`, `${call}.completed`]),
    ...["code_interpreter_call.interpreting", "file_search_call.searching"],
    ...["web_search_call.searching", "image_generation_call.generating", "compaction.compacting"],
    ...["mcp_call", "mcp_list_tools"]
      .flatMap((call) => [`${call}.in_progress`, `${call}.completed`, `${call}.failed`]),
  ],
  "of the realtime endpoint": [
    ...["audio.delta", "audio.done", "audio.transcript.delta", "audio.transcript.done"],
  ],
};

Deno.test("responses: each event of the library's streams is read, or excepted", () => {
  const items = membersOf("responses", "ResponseOutputItem").map((item) => ({
    ...{ ...item, id: "item_id", status: "in_progress" },
    ...{ content: [], summary: [], arguments: "", input: "", code: "" },
  } as Json));
  const at = { item_id: "item_id", output_index: 0, content_index: 0, summary_index: 0 };
  const created = { type: "response.created", response: { id: "r", output: [] } };
  const added = (item: Json) => ({ type: "response.output_item.added", output_index: 0, item });
  const part = { type: "output_text", text: "", annotations: [] };
  const partAdded = { type: "response.content_part.added", ...at, part };
  const beginnings = [
    [],
    [created],
    ...items.map((item) => [created, added(item)]),
    [created, added(items.find(({ type }) => type === "message")!), partAdded],
  ];
  const unread = membersOf("responses", "ResponseStreamEvent").filter((event) =>
    beginnings.every((before) => {
      const placed = { ...event, ...at };
      const unheardOf = { ...placed, type: "response.unheard_of" };
      return read("responses", [...before, placed]) === read("responses", [...before, unheardOf]);
    })
  );
  assert.deepEqual(
    unread.map(({ type }) => String(type).replace("response.", "")).toSorted(),
    Object.values(unreadEvents).flat().toSorted(),
  );
});

Deno.test("messages: each delta of the library's streams is read", () => {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "m", type: "message", role: "assistant", content: [], usage };
  const beginnings = membersOf("messages", "BetaContentBlock").map((content_block) => [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block },
  ]);
  const deltas = membersOf("messages", "BetaRawContentBlockDelta");
  assert.ok(deltas.length > 5, `${deltas.length} deltas`);
  const stop = { type: "content_block_stop", index: 0 };
  const isRead = (delta: Json) =>
    beginnings.some((before) => {
      const send = (delta: Json) =>
        read("messages", [...before, { type: "content_block_delta", index: 0, delta }, stop]);
      return send(delta) !== send({ ...delta, type: "unheard_of" });
    });
  assert.deepEqual(deltas.filter((delta) => !isRead(delta)).map(({ type }) => type), []);
});

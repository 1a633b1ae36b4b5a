/** Integers that JavaScript rounds, such as ids of 64 bits, keep their digits in calls and results. */
import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { shared } from "../support/service.ts";
import { dialectNames, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";

const service = shared(() => startScriptedVendors());

const long = "1234567890123456789";

/** JSON text in which each "LONG" is the integer, also within strings that are JSON. */
const written = (value: unknown) => JSON.stringify(value).replaceAll(/\\?"LONG\\?"/g, long);

const args = { id: "LONG", in: [{ id: "LONG" }] };
const argsText = JSON.stringify(args);
const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10 };

/** A conversation with a call and its result, both with the integer. */
function conversation(dialect: DialectName, prompt: string): Record<string, unknown> {
  const user = { role: "user", content: prompt };
  const parameters = { type: "object", properties: { id: { type: "integer" } } };
  switch (dialect) {
    case "chat":
      return {
        messages: [
          user,
          {
            role: "assistant",
            content: null,
            tool_calls: [{
              id: "a",
              type: "function",
              function: { name: "f", arguments: argsText },
            }],
          },
          { role: "tool", tool_call_id: "a", content: argsText },
        ],
        tools: [{ type: "function", function: { name: "f", parameters } }],
      };
    case "responses":
      return {
        input: [
          user,
          { type: "function_call", call_id: "a", name: "f", arguments: argsText },
          { type: "function_call_output", call_id: "a", output: argsText },
        ],
        tools: [{ type: "function", name: "f", parameters, strict: false }],
      };
    case "messages":
      return {
        messages: [
          user,
          { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: args }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: argsText }] },
        ],
        tools: [{ name: "f", input_schema: parameters }],
      };
    case "generate":
      return {
        contents: [
          { role: "user", parts: [{ text: prompt }] },
          { role: "model", parts: [{ functionCall: { name: "f", args } }] },
          { role: "user", parts: [{ functionResponse: { name: "f", response: args } }] },
        ],
        tools: [{ functionDeclarations: [{ name: "f", parameters }] }],
      };
  }
}

/** A vendor's answer with the call: whole, and as the events of a stream. */
function answer(dialect: DialectName): { whole: unknown; events: unknown[] } {
  const head = { id: "1", model: "m" };
  switch (dialect) {
    case "chat": {
      const call = { id: "b", type: "function", function: { name: "f", arguments: argsText } };
      const end = { index: 0, finish_reason: "tool_calls" };
      const message = { role: "assistant", content: null, tool_calls: [call] };
      const delta = { ...message, tool_calls: [{ index: 0, ...call }] };
      const counted = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
      return {
        whole: { ...head, choices: [{ ...end, message }], usage: counted },
        events: [{ ...head, choices: [{ ...end, delta }] }, {
          ...head,
          choices: [],
          usage: counted,
        }],
      };
    }
    case "responses": {
      const item = {
        type: "function_call",
        id: "fc",
        call_id: "b",
        name: "f",
        arguments: argsText,
      };
      const response = { ...head, object: "response", status: "completed", output: [item], usage };
      const done = { type: "response.output_item.done", output_index: 0, item };
      return { whole: response, events: [done, { type: "response.completed", response }] };
    }
    case "messages": {
      const block = { type: "tool_use", id: "b", name: "f" };
      const message = { ...head, type: "message", role: "assistant", content: [], usage };
      const end = { stop_reason: "tool_use", stop_sequence: null };
      const delta = { type: "input_json_delta", partial_json: argsText };
      return {
        whole: { ...message, content: [{ ...block, input: args }], ...end },
        events: [
          { type: "message_start", message },
          { type: "content_block_start", index: 0, content_block: { ...block, input: {} } },
          { type: "content_block_delta", index: 0, delta },
          { type: "content_block_stop", index: 0 },
          { type: "message_delta", delta: end, usage },
          { type: "message_stop" },
        ],
      };
    }
    case "generate": {
      const content = { role: "model", parts: [{ functionCall: { name: "f", args } }] };
      const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 };
      const whole = { candidates: [{ content, finishReason: "STOP" }], usageMetadata };
      return { whole, events: [whole] };
    }
  }
}

for (const vendor of dialectNames) {
  for (const caller of dialectNames) {
    for (const stream of [false, true]) {
      const how = stream ? "streamed" : "whole";
      Deno.test(`${caller} on ${vendor}, ${how}: a long integer keeps its digits`, async () => {
        let asked = "";
        const { whole, events } = answer(vendor);
        const word = service().script((exchange) => {
          asked = exchange.request.body;
          return stream
            ? exchange.stream(events.map((event) => `data: ${written(event)}\n\n`))
            : exchange.answer(200, written(whole), { "content-type": "application/json" });
        });
        const model = `${scriptedLabel(vendor)}/${scriptedModel}`;
        const more = conversation(caller, word);
        const { path, body } = rawRequest(caller, { model, prompt: word, stream, more });
        const answered = await service().post(path, written(body));
        const text = await answered.text();
        assert.equal(answered.status, 200, text);
        for (const [what, json] of [["request", asked], ["answer", text]] as const) {
          assert.ok(json.split(long).length > 2, `the ${what} has it twice at least: ${json}`);
          assert.doesNotMatch(json, /12345678901234568|1\.2345678/, what);
        }
      });
    }
  }
}

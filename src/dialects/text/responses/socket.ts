import { parseExactly } from "../../../base/exact_json.ts";
import { itemsAt, locate, splice } from "../../../base/json_text.ts";
import { parsing } from "../../../base/heavy_json.ts";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import type { SocketFrames } from "../../kernel/socket_frames.ts";
import { jsonValue } from "../../kernel/json.ts";
import { textWithoutTags } from "../../kernel/tag_blocks.ts";
import { sinceSummary, summaryStart } from "./conversation/state.ts";
import { bodyTextOf, inputItemsText, readClientFrame } from "./socket/client_frame.ts";
import { wholeEvents } from "./socket/whole_events.ts";
import { readRequest } from "./splice.ts";

/** Responses over WebSocket (openai 7.57, `ResponsesClientEvent` and `ResponsesServerEvent`). */
export const socket: SocketFrames = {
  previousField: "previous_response_id",

  readFrame: readClientFrame,

  bodyText: ({ members }) => bodyTextOf(members),

  itemsOf: ({ members }) => inputItemsText(members.get("input")),

  *takeTags(itemsText) {
    if (!mayHaveTags.test(itemsText)) return { tags: {}, itemsText };
    const [start, end] = ['{"input":[', "]}"];
    const text = start + itemsText + end;
    let body: unknown;
    try {
      body = yield* parsing(text);
    } catch {
      // The endpoint refuses it.
      return { tags: {}, itemsText };
    }
    const { tags, tagBlocks } = readRequest(body);
    const untagged = yield* textWithoutTags(text, tagBlocks);
    return { tags, itemsText: untagged.slice(start.length, -end.length) };
  },

  withItems(frame, itemsText, previousId) {
    const members = new Map(frame.members);
    if (previousId === undefined) members.delete("previous_response_id");
    else members.set("previous_response_id", JSON.stringify(previousId));
    members.set("input", `[${itemsText}]`);
    return { ...frame, members };
  },

  *sinceSummary(itemsText) {
    if (!itemsText.includes('"compaction_trigger"')) return { itemsText, isSummary: false };
    const text = `[${itemsText}]`;
    const items = (yield* itemsAt(text, { start: 0, end: text.length })).map(({ start, end }) => {
      const item = text.slice(start, end);
      return { item, type: jsonValue(textAt(item, ["type"]) ?? "null") };
    });
    const left = sinceSummary(items).map(({ item }) => item);
    return { itemsText: left.join(","), isSummary: summaryStart(items) > 0 };
  },

  withPrevious(data, previousId) {
    const path = ["response", "previous_response_id"];
    const range = data.includes(`"${path[1]}"`) ? locate(data, path) : undefined;
    return range ? splice(data, [{ ...range, text: JSON.stringify(previousId) }]) : data;
  },

  warmUp({ members, previousId = null }, { id, createdAt }) {
    const model = members.get("model");
    if (!model?.startsWith('"')) {
      throw new Fault("missing_required_field", {
        param: "model",
        message: "model: a warm-up has the fields of the request that follows it.",
      });
    }
    const usage = {
      ...{ input_tokens: 0, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens: 0, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 0 },
    };
    return ["created", "completed"].map((step, at) => {
      const isOver = step === "completed";
      const response = {
        ...{ id, object: "response", created_at: createdAt, background: false },
        ...{ status: isOver ? "completed" : "in_progress", error: null, incomplete_details: null },
        ...{
          instructions: null,
          model: parseExactly(model),
          output: [],
          parallel_tool_calls: true,
        },
        ...{ tool_choice: "auto", tools: [], metadata: {}, store: false },
        previous_response_id: previousId,
        usage: isOver ? usage : null,
      };
      return JSON.stringify({ type: `response.${step}`, sequence_number: at, response });
    });
  },

  steerFailed({ previousId, inputText }, isActive) {
    const error = {
      type: "invalid_request_error",
      code: isActive ? "steering_not_supported" : "response_not_found",
      message: isActive
        ? "This response can't be steered. Send the input with the next response.create."
        : "No response with this id is under way on this socket.",
    };
    const fields = { type: "response.steer.failed", sequence_number: 0, error };
    const steer = `{"previous_response_id":${JSON.stringify(previousId)},"input":${inputText}}`;
    return `${JSON.stringify(fields).slice(0, -1)},"steer":${steer}}`;
  },

  cancelled(responseId) {
    const response = { id: responseId ?? null, object: "response", status: "cancelled" };
    return JSON.stringify({ type: "response.cancelled", response });
  },

  error(status, bodyText, headers) {
    const error = textAt(bodyText, ["error"]) ??
      '{"type":"api_error","code":null,"message":"The request failed.","param":null}';
    return `{"type":"error","status":${status},"error":${error},"headers":${
      JSON.stringify(headers)
    }}`;
  },

  wholeEvents,

  withStream(data, streamId) {
    if (!data.startsWith("{")) return data;
    return `{"stream_id":${JSON.stringify(streamId)},${data.slice(1)}`;
  },

  responseId(data) {
    const id = textAt(data, ["response", "id"]);
    return id?.startsWith('"') ? parseExactly(id) as string : undefined;
  },

  outputOf(data) {
    const type = textAt(data, ["type"]);
    if (type !== '"response.completed"' && type !== '"response.incomplete"') return undefined;
    return finish(inputItemsText(textAt(data, ["response", "output"])));
  },
};

/** A text that begins like a tag line, whose slashes may be escaped. */
const mayHaveTags = /"(?:\\?\/|\\u002f){3}/i;

function textAt(text: string, path: readonly string[]): string | undefined {
  const range = locate(text, path);
  return range === undefined ? undefined : text.slice(range.start, range.end);
}

import type { BlockKind, Citation, TokenLogprob } from "../../../kernel/canonical.ts";
import { isRecord } from "../../../kernel/json.ts";
import { parsedRecord } from "../../../kernel/operation_request.ts";
import type { CallerToolName } from "../../../kernel/namespaces.ts";
import { pushAll } from "../../../../base/lists.ts";
import { countLogprobs } from "../../../kernel/token_logprobs.ts";
import { TextUnits } from "../../../kernel/text_units.ts";
import {
  type CodingTool,
  endCodingCall,
  isCodingCall,
  newCodingCall,
} from "../request/coding_tools.ts";
import { writeCitation } from "./citations.ts";
import { writeLogprobs } from "./logprobs.ts";

export type Item = Record<string, unknown>;

/** Emits an event of the open item, adding the item's id and index. */
type EmitItemEvent = (type: string, fields: Record<string, unknown>) => void;

/** Writes one open block into its item. */
export interface OpenBlock {
  /** The content part of a text block, and its text, to which sources are added. */
  readonly part?: { item: Item; text: TextUnits };
  delta(text: string, logprobs: readonly TokenLogprob[] | undefined): void;
  cite?(citation: Citation): void;
  end(sealed: string | undefined): void;
  /** Puts the content so far into the item without an event, because the answer failed. */
  abandon(): void;
}

/**
 * Returns the new item of a block, for its `added` event; undefined if this dialect has no item for
 * it.
 */
export function newItem(
  content: BlockKind,
  newId: (prefix: string) => string,
  namespaces: Readonly<Record<string, CallerToolName>>,
): Item | undefined {
  switch (content.kind) {
    case "text":
    case "refusal":
      return {
        id: newId("msg_"),
        type: "message",
        status: "in_progress",
        role: "assistant",
        content: [],
      };
    case "reasoning":
      // Optional at OpenAI, but the AI SDK's provider of xAI requires a status.
      return { id: newId("rs_"), type: "reasoning", status: "in_progress", summary: [] };
    case "tool-call": {
      const call_id = content.id || newId("call_");
      const own = Object.hasOwn(namespaces, content.name)
        ? namespaces[content.name]!
        : { name: content.name };
      if ("toolType" in own) {
        return own.toolType === "tool_search"
          ? newToolSearch(newId, call_id)
          : newCodingCall(own.toolType as CodingTool, call_id, newId);
      }
      const named = { call_id, ...own };
      return content.custom
        ? {
          id: newId("ctc_"),
          type: "custom_tool_call",
          status: "in_progress",
          ...named,
          input: "",
        }
        : {
          id: newId("fc_"),
          type: "function_call",
          status: "in_progress",
          ...named,
          arguments: "",
        };
    }
    case "media":
      if (content.media !== "image") return undefined;
      return {
        id: content.id ?? newId("ig_"),
        type: "image_generation_call",
        status: "in_progress",
        result: null,
        output_format: content.mimeType.replace(/^image\//, ""),
      };
    case "vendor":
      return content.dialect === "responses" && isRecord(content.value)
        ? { ...content.value }
        : undefined;
  }
}

function newToolSearch(newId: (prefix: string) => string, call_id: string): Item {
  return {
    id: newId("tsc_"),
    type: "tool_search_call",
    status: "in_progress",
    call_id,
    execution: "client",
    arguments: {},
  };
}

/**
 * Opens a block within its item, whose `added` event was emitted. A text that exceeds `room` for
 * its tokens and alternatives repeats none of them.
 */
export function openBlock(
  content: BlockKind,
  item: Item,
  emit: EmitItemEvent,
  room: { logprobs: number },
): OpenBlock {
  switch (content.kind) {
    case "refusal":
      return refusalBlock(item, emit);
    case "reasoning":
      return reasoningBlock(item, emit);
    case "tool-call":
      if (item.type === "tool_search_call") {
        const write = (text: string) =>
          item.arguments = text === "" ? {} : parsedRecord(text) ?? text;
        return wholeBlock(write, write);
      }
      if (isCodingCall(item)) return wholeBlock((text) => endCodingCall(item, text));
      return content.custom
        ? callBlock(item, emit, { name: "custom_tool_call_input", field: "input", empty: "" })
        // A call without arguments gets an empty object; clients fail to parse an empty text.
        : callBlock(item, emit, {
          name: "function_call_arguments",
          field: "arguments",
          empty: "{}",
        });
    case "media":
      return wholeBlock((data) => item.result = data);
    default:
      return textBlock(item, emit, room);
  }
}

function textBlock(item: Item, emit: EmitItemEvent, room: { logprobs: number }): OpenBlock {
  const logprobs: unknown[] = [];
  const annotations: Item[] = [];
  const part: Item = { type: "output_text", text: "", annotations, logprobs };
  const at = addPart(item, part, emit);
  let text = "";
  const units = new TextUnits();
  return {
    part: { item: part, text: units },
    delta(piece, pieceLogprobs) {
      if (piece === "" && !pieceLogprobs) return;
      text += piece;
      units.add(piece);
      const written = writeLogprobs(pieceLogprobs);
      room.logprobs -= countLogprobs(pieceLogprobs);
      if (room.logprobs < 0) logprobs.length = 0;
      else pushAll(logprobs, written);
      emit("response.output_text.delta", { ...at, delta: piece, logprobs: written });
    },
    cite(citation) {
      const annotation = writeCitation(citation, units);
      emit("response.output_text.annotation.added", {
        ...at,
        annotation_index: annotations.length,
        annotation,
      });
      annotations.push(annotation);
    },
    end() {
      part.text = text;
      emit("response.output_text.done", { ...at, text, logprobs });
      emit("response.content_part.done", { ...at, part });
    },
    abandon() {
      part.text = text;
    },
  };
}

function refusalBlock(item: Item, emit: EmitItemEvent): OpenBlock {
  const part: Item = { type: "refusal", refusal: "" };
  const at = addPart(item, part, emit);
  let refusal = "";
  return {
    delta(piece) {
      if (piece === "") return;
      refusal += piece;
      emit("response.refusal.delta", { ...at, delta: piece });
    },
    end() {
      part.refusal = refusal;
      emit("response.refusal.done", { ...at, refusal });
      emit("response.content_part.done", { ...at, part });
    },
    abandon() {
      part.refusal = refusal;
    },
  };
}

function addPart(item: Item, part: Item, emit: EmitItemEvent): { content_index: number } {
  const content = item.content as Item[];
  const at = { content_index: content.length };
  emit("response.content_part.added", { ...at, part });
  content.push(part);
  return at;
}

/**
 * Writes reasoning. The summary's only part starts with its first text: sealed reasoning may have
 * none.
 */
function reasoningBlock(item: Item, emit: EmitItemEvent): OpenBlock {
  const at = { summary_index: 0 };
  const part: Item = { type: "summary_text", text: "" };
  let text = "";
  return {
    delta(piece) {
      if (piece === "") return;
      if (text === "") {
        emit("response.reasoning_summary_part.added", { ...at, part });
        item.summary = [part];
      }
      text += piece;
      emit("response.reasoning_summary_text.delta", { ...at, delta: piece });
    },
    end(sealed) {
      if (text !== "") {
        part.text = text;
        emit("response.reasoning_summary_text.done", { ...at, text });
        emit("response.reasoning_summary_part.done", { ...at, part });
      }
      if (sealed !== undefined) item.encrypted_content = sealed;
    },
    abandon() {
      part.text = text;
    },
  };
}

function callBlock(
  item: Item,
  emit: EmitItemEvent,
  form: { name: string; field: "arguments" | "input"; empty: string },
): OpenBlock {
  let text = "";
  const delta = (piece: string) => {
    if (piece === "") return;
    text += piece;
    emit(`response.${form.name}.delta`, { delta: piece });
  };
  return {
    delta,
    end() {
      if (text === "") delta(form.empty);
      item[form.field] = text;
      const name = form.field === "arguments" ? { name: item.name } : {};
      emit(`response.${form.name}.done`, { [form.field]: text, ...name });
    },
    abandon() {
      item[form.field] = text;
    },
  };
}

/** Collects what is sent whole with its item: an image, or arguments that are an object. */
function wholeBlock(
  write: (text: string) => void,
  writeCut: (text: string) => void = () => {},
): OpenBlock {
  let text = "";
  return {
    delta(piece) {
      text += piece;
    },
    end() {
      write(text);
    },
    abandon() {
      writeCut(text);
    },
  };
}

import { BlockEvents } from "../../../kernel/block_events.ts";
import type { CanonicalEvent, TokenLogprob } from "../../../kernel/canonical.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { TextUnits } from "../../../kernel/text_units.ts";
import { LogprobReader } from "../../../kernel/token_logprobs.ts";
import { choiceList } from "../../../kernel/choices.ts";
import { CallIndexes } from "./call_indexes.ts";
import { readAudio, readCitations, readImages } from "./extras.ts";
import { readChoiceLogprobs } from "./logprobs.ts";
import { ownFields, type OwnMembers } from "../../../kernel/own_fields.ts";
import { readFinishReason } from "../finish_reason.ts";
import { ownCall, OwnChoice } from "./own_choice.ts";

type TextKind = "text" | "transcript" | "reasoning" | "refusal";

interface ToolCall {
  id: string | undefined;
  name: string | undefined;
  custom: boolean;
  own: OwnMembers;
  /** Undefined until the name is known: only then can the block open. */
  block: number | undefined;
  /** Arguments received before the name. */
  early: string;
}

/** Reads the chunks of one choice of a chat stream into canonical events. */
export class ChoiceReader {
  finished = false;
  /**
   * Whether content may follow the finish reason: it was in the first chunk, or content has followed
   * it.
   */
  mayRepeatReason = true;
  readonly #choice: number;
  readonly #blocks: BlockEvents;
  #open: { kind: TextKind; block: number } | undefined;
  /** All text of the choice, and the offset in it at which the open block begins. */
  readonly #allText = new TextUnits();
  #from = 0;
  #sound: number | undefined;
  readonly #own = new OwnChoice();
  readonly #tools = new Map<number, ToolCall>();
  readonly #indexes = new CallIndexes(this.#tools);

  readonly #logprobs: LogprobReader;

  /**
   * `nextBlock` is shared by all choices of the answer, since block numbers are unique in it.
   * `logprobs` may have read their log-probabilities ahead.
   */
  constructor(choice: number, nextBlock: { value: number }, logprobs = new LogprobReader()) {
    this.#choice = choice;
    this.#logprobs = logprobs;
    this.#blocks = new BlockEvents(choice, nextBlock);
  }

  /** Reads one entry of a chunk's `choices`. */
  read(choice: JsonRecord, events: CanonicalEvent[]): void {
    const eventsBefore = events.length;
    const delta = isRecord(choice.delta) ? choice.delta : asRecord(choice.message);
    this.#own.addPiece(choice, delta);
    const reasoning = reasoningText(delta);
    if (reasoning) this.#text("reasoning", reasoning, events);
    let logprobs = readChoiceLogprobs(choice, this.#logprobs);
    if (typeof delta.content === "string") {
      const isMore = this.#open?.kind === "text" && logprobs && logprobs.length > 0;
      if (delta.content !== "" || isMore) this.#text("text", delta.content, events, logprobs);
    } else {
      for (const { kind, text } of contentPieces(delta.content)) {
        this.#text(kind, text, events, kind === "text" ? logprobs : undefined);
        if (kind === "text") logprobs = undefined;
      }
    }
    this.#extras(delta, events);
    const refusal = asString(delta.refusal);
    if (refusal) this.#text("refusal", refusal, events);
    const calls = choiceList(delta.tool_calls, "tool calls");
    for (const [position, call] of calls.entries()) {
      const among = calls.length === 1 ? undefined : position;
      if (isRecord(call)) this.#toolCall(call, among, events);
    }
    if (isRecord(delta.function_call)) {
      this.#toolCall({ index: 0, function: delta.function_call }, 0, events);
    }
    if (this.finished && events.length > eventsBefore) this.mayRepeatReason = true;
    const raw = asString(choice.finish_reason);
    if (raw && !this.finished) this.#finish(raw, events);
    if (!this.finished) this.mayRepeatReason = false;
  }

  /** Sources, pictures and sound. */
  #extras(delta: JsonRecord, events: CanonicalEvent[]): void {
    const audio = readAudio(delta);
    if (audio?.transcript) this.#text("transcript", audio.transcript, events);
    if (audio?.data) this.#audio(audio.id, audio.data, events);
    if (!Array.isArray(delta.annotations)) return this.#pictures(delta, events);
    // Sources may arrive after the text that they refer to has ended.
    const isOpen = this.#open?.kind === "text";
    const from = isOpen ? this.#from : this.#allText.length;
    for (const citation of readCitations(delta, this.#allText, from)) {
      this.#blocks.cite(this.#textBlock("text", events), citation, events);
    }
    this.#pictures(delta, events);
  }

  #pictures(delta: JsonRecord, events: CanonicalEvent[]): void {
    for (const { content, data } of readImages(delta)) {
      this.#blocks.whole(content, data, events);
    }
  }

  /** All pieces of a sound belong to one block. */
  #audio(id: string | undefined, data: string, events: CanonicalEvent[]): void {
    this.#sound ??= this.#blocks.start(
      { kind: "media", media: "audio", mimeType: "audio/wav", id },
      events,
    );
    this.#blocks.delta(this.#sound, data, events);
  }

  /**
   * Ends the choice: closes its open blocks, and reports its fields that have no canonical form.
   */
  close(events: CanonicalEvent[]): void {
    this.#closeBlocks(events);
    this.#own.report("chat", events, this.#choice);
  }

  #closeBlocks(events: CanonicalEvent[]): void {
    this.#closeText(events);
    if (this.#sound !== undefined) {
      this.#blocks.end(this.#sound, events);
      this.#sound = undefined;
    }
    for (const tool of this.#tools.values()) {
      if (tool.block === undefined) this.#openTool(tool, events);
      this.#blocks.end(tool.block!, events, ownFields("chat", tool.own.all));
    }
    this.#tools.clear();
  }

  #finish(raw: string, events: CanonicalEvent[]): void {
    const sawToolCall = this.#tools.size > 0;
    this.#closeBlocks(events);
    this.finished = true;
    const reason = readFinishReason(raw, sawToolCall);
    events.push({
      type: "finish",
      choice: this.#choice,
      reason: reason === "error" ? "stop" : reason,
      raw,
    });
  }

  #text(
    kind: TextKind,
    text: string,
    events: CanonicalEvent[],
    logprobs?: readonly TokenLogprob[],
  ): void {
    this.#blocks.delta(this.#textBlock(kind, events), text, events, logprobs);
    if (kind === "text") this.#allText.add(text);
  }

  #textBlock(kind: TextKind, events: CanonicalEvent[]): number {
    if (this.#open?.kind !== kind) {
      this.#closeText(events);
      const content = kind === "transcript"
        ? { kind: "text", isTranscript: true } as const
        : { kind };
      this.#open = { kind, block: this.#blocks.start(content, events) };
      this.#from = this.#allText.length;
    }
    return this.#open.block;
  }

  #toolCall(call: JsonRecord, position: number | undefined, events: CanonicalEvent[]): void {
    this.#closeText(events);
    const custom = isRecord(call.custom);
    const body = custom ? call.custom as JsonRecord : asRecord(call.function);
    const index = this.#indexes.of(call, position, asString(body.name));
    if (index === undefined) return;
    const tool = this.#tool(index);
    tool.id ??= asString(call.id);
    tool.name ??= asString(body.name);
    tool.custom ||= custom;
    tool.own.add(call);
    const fragment = argumentText(custom ? body.input : body.arguments);
    if (tool.block === undefined) {
      tool.early += fragment;
      if (tool.name !== undefined) this.#openTool(tool, events);
    } else if (fragment) {
      this.#blocks.delta(tool.block, fragment, events);
    }
  }

  #tool(index: number): ToolCall {
    let tool = this.#tools.get(index);
    if (!tool) {
      tool = {
        ...{ id: undefined, name: undefined, custom: false, block: undefined, early: "" },
        own: ownCall(),
      };
      this.#tools.set(index, tool);
    }
    return tool;
  }

  #openTool(tool: ToolCall, events: CanonicalEvent[]): void {
    tool.block = this.#blocks.start({
      kind: "tool-call",
      id: tool.id ?? "",
      name: tool.name ?? "",
      custom: tool.custom,
    }, events);
    if (tool.early) this.#blocks.delta(tool.block, tool.early, events);
    tool.early = "";
  }

  #closeText(events: CanonicalEvent[]): void {
    if (!this.#open) return;
    this.#blocks.end(this.#open.block, events);
    this.#open = undefined;
  }
}

/** Arguments as JSON text; some servers send the parsed object. */
function argumentText(value: unknown): string {
  return isRecord(value) ? JSON.stringify(value) : asString(value) ?? "";
}

/** The pieces of a `content` that is a list: of text, refusal and (one vendor) thinking parts. */
function contentPieces(
  content: unknown,
): { kind: "text" | "reasoning" | "refusal"; text: string }[] {
  return choiceList(content, "parts").filter(isRecord).flatMap((part) => {
    const thinking = Array.isArray(part.thinking)
      ? choiceList(part.thinking, "parts")
      : [{ text: part.thinking }];
    const pieces = [
      ...thinking.filter(isRecord).map(({ text }) => ({ kind: "reasoning" as const, text })),
      { kind: "text" as const, text: part.text },
      { kind: "refusal" as const, text: part.refusal },
    ];
    return pieces.flatMap(({ kind, text }) =>
      asString(text) ? [{ kind, text: text as string }] : []
    );
  });
}

/** Reasoning text, under the names that compatible servers and OpenRouter use. */
function reasoningText(delta: JsonRecord): string | undefined {
  const plain = asString(delta.reasoning_content) ?? asString(delta.reasoning);
  if (plain || !Array.isArray(delta.reasoning_details)) return plain;
  const texts = choiceList(delta.reasoning_details, "pieces of reasoning").map((detail) =>
    isRecord(detail) ? asString(detail.text) ?? asString(detail.summary) ?? "" : ""
  );
  return asString(texts.join(""));
}

import { pushAll } from "../../../../base/lists.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { isNested, OwnMembers } from "../../../kernel/own_fields.ts";

/** No real answer has more entries in one of these lists, or more text in pieces. */
const maxEntries = 20_000;
const maxPiecesUnits = 4 * 1024 * 1024;

/**
 * Collects the members of an answer that its decoder doesn't read; `obfuscation` is padding of
 * streams.
 */
export const ownAnswer = () =>
  new OwnMembers(["id", "object", "created", "model", "choices", "usage", "obfuscation"]);

/** Collects the members of a tool call besides its name and arguments. */
export const ownCall = () => new OwnMembers(["index", "id", "type", "function", "custom"]);

/**
 * Collects the members of a choice and its message that have no canonical form. Of reasoning only
 * the last piece is kept, for the name of its field, which differs between servers.
 */
export class OwnChoice extends OwnMembers {
  #room = maxPiecesUnits;
  readonly #message = new OwnMembers([
    ...["role", "content", "refusal", "tool_calls", "function_call", "images", "audio"],
    ...["annotations", "reasoning_details", "obfuscation"],
  ]);

  constructor() {
    super(["index", "delta", "message", "finish_reason", "logprobs"]);
  }

  addPiece(choice: JsonRecord, message: JsonRecord): void {
    this.add(choice);
    this.#message.add(message);
    if (isRecord(message.audio)) this.#addSound(message.audio);
    this.#addList("annotations", message.annotations);
    // In a whole answer every entry is complete.
    this.#addList("reasoning_details", message.reasoning_details, isRecord(choice.delta));
    if (isRecord(choice.logprobs)) this.#addList("refusal_logprobs", choice.logprobs.refusal);
  }

  override get all(): JsonRecord {
    const { refusal_logprobs: refusal, ...message } = this.#message.all;
    return {
      ...super.all,
      ...(refusal ? { logprobs: { refusal } } : {}),
      ...(Object.keys(message).length > 0 ? { message } : {}),
    };
  }

  /** Keeps the audio's other members; its data and its transcript are blocks of the answer. */
  #addSound({ data: _, transcript: __, ...audio }: JsonRecord): void {
    this.#message.set("audio", {
      ...this.#message.get("audio") as JsonRecord | undefined,
      ...audio,
    });
  }

  /** `inPieces`: an entry may continue the text of the one before. */
  #addList(name: string, more: unknown, inPieces = false): void {
    if (!Array.isArray(more) || more.length === 0) return;
    const list = (this.#message.get(name) ?? []) as JsonRecord[];
    this.#message.set(name, list);
    for (const entry of more.filter(isRecord)) {
      const last = list.at(-1);
      const field = last && inPieces ? continuedField(last, entry) : undefined;
      if (last && field !== undefined) {
        const text = this.#joined(last[field], entry[field]);
        list[list.length - 1] = { ...last, ...entry, [field]: text };
      } else if (list.length < maxEntries) list.push(entry);
    }
  }

  #joined(before: unknown, piece: unknown): string {
    const more = asString(piece) ?? "";
    this.#room -= more.length;
    return (asString(before) ?? "") + (this.#room < 0 ? "" : more);
  }
}

/** The field that arrives in pieces, by an entry's type. */
const pieceFields: ReadonlyMap<unknown, string> = new Map([
  ["reasoning.text", "text"],
  ["reasoning.summary", "summary"],
]);

/** Returns the field whose text continues; undefined if a new entry begins. */
function continuedField(last: JsonRecord, entry: JsonRecord): string | undefined {
  const isSame = last.type === entry.type && last.index === entry.index;
  return isSame ? pieceFields.get(entry.type) : undefined;
}

/** Whether no object or list is collected from this piece of an answer. */
export function isFlat(json: JsonRecord): boolean {
  const answer = ownAnswer();
  answer.add(json);
  const gathered: unknown[] = Object.values(answer.all);
  for (const choice of recordsIn(json.choices)) {
    const own = new OwnChoice();
    const delta = asRecord(choice.delta);
    own.addPiece(choice, delta);
    const { message, ...members } = own.all;
    const call = ownCall();
    for (const one of recordsIn(delta.tool_calls)) call.add(one);
    for (const values of [members, asRecord(message), call.all]) {
      pushAll(gathered, Object.values(values));
    }
  }
  return !gathered.some(isNested);
}

import { count, type Json, list, must, object, text, words } from "./frames.ts";

type State = "open" | "said" | "done";

interface Part {
  /** `output_text`, `refusal`, `summary_text` or `reasoning_text`. */
  type: string;
  said: string;
  annotations: unknown[];
  state: State;
}

/** How parts of a type are streamed: the names of their events, and the member with their text. */
interface Kind {
  added: string;
  words: string;
  member: "text" | "refusal";
  index: "content_index" | "summary_index";
}

const content = { added: "response.content_part", index: "content_index" } as const;

const kinds: Readonly<Record<string, Kind>> = {
  output_text: { ...content, words: "response.output_text", member: "text" },
  refusal: { ...content, words: "response.refusal", member: "refusal" },
  reasoning_text: { ...content, words: "response.reasoning_text", member: "text" },
  summary_text: {
    added: "response.reasoning_summary_part",
    index: "summary_index",
    words: "response.reasoning_summary_text",
    member: "text",
  },
};

const typesOf: Readonly<Record<string, readonly string[]>> = {
  message: ["output_text", "refusal"],
  reasoning: ["reasoning_text", "summary_text"],
};

/**
 * Checks the parts of a message or a reasoning item: each has an `added` event, deltas, and two
 * `done` events. They come one at a time, with indexes without gaps.
 */
export class PartWalk {
  readonly #itemType: string;
  readonly #parts: Part[] = [];

  constructor(itemType: string) {
    this.#itemType = itemType;
  }

  take(type: string, event: Json): void {
    if (/_part\.added$/.test(type)) return this.#add(type, event);
    const part = this.#parts.at(-1);
    must(part, `${type} before a part was added`);
    const kind = kinds[part.type]!;
    must(event[kind.index] === this.#parts.length - 1, `${type} with another ${kind.index}`);
    switch (type) {
      case `${kind.words}.delta`:
        must(part.state === "open", "a delta after the text's done event");
        part.said += words(event.delta, "delta");
        if (part.type === "output_text") list(event.logprobs, "logprobs");
        return;
      case `${kind.words}.annotation.added`:
        must(part.state === "open", "an annotation after the text's done event");
        must(event.annotation_index === part.annotations.length, "annotation_index has a gap");
        part.annotations.push(object(event.annotation, "annotation"));
        return;
      case `${kind.words}.done`:
        must(part.state === "open", "a second done event of one text");
        must(event[kind.member] === part.said, "the text's done event is not its deltas");
        part.state = "said";
        return;
      case `${kind.added}.done`:
        must(part.state === "said", "a part is done before its text is");
        this.#checkPart(object(event.part, "part"), part);
        part.state = "done";
        return;
    }
    must(false, `${type} in a ${part.type} part`);
  }

  /** Checks that the finished item has the same parts as the events. */
  checkItem(item: Json): void {
    for (const { state } of this.#parts) must(state === "done", "an item ends with a part open");
    const shown = [
      ...list(item.summary ?? [], "summary"),
      ...list(item.content ?? [], "content"),
    ].map((one) => object(one, "part"));
    must(shown.length === this.#parts.length, "the item has other parts than those told");
    for (const [index, one] of shown.entries()) this.#checkPart(one, this.#parts[index]!);
  }

  #add(type: string, event: Json): void {
    must(this.#parts.every(({ state }) => state === "done"), "two parts are open");
    const shown = object(event.part, "part");
    const partType = text(shown.type, "part.type");
    const kind = kinds[partType];
    must(kind && typesOf[this.#itemType]?.includes(partType), `a ${partType} part is here`);
    must(type === `${kind.added}.added`, `${type} for a ${partType} part`);
    must(count(event[kind.index], kind.index) === this.#parts.length, `${kind.index} has a gap`);
    must(shown[kind.member] === "", "a new part has its text");
    this.#parts.push({ type: partType, said: "", annotations: [], state: "open" });
  }

  #checkPart(shown: Json, part: Part): void {
    must(shown.type === part.type, "a part's type changed");
    must(shown[kinds[part.type]!.member] === part.said, "a part's text is not its deltas");
    if (part.type !== "output_text") return;
    const told = JSON.stringify(part.annotations);
    const annotations = list(shown.annotations, "annotations");
    must(JSON.stringify(annotations.slice(0, part.annotations.length)) === told, "annotations");
  }
}

type Part = Record<string, unknown>;

/**
 * Keeps the last part of a candidate back until more comes, so that the element that says how the
 * candidate ended has a part too. Chat sessions of the official Python and Go libraries forget a
 * turn one element of which has no content, and the vendor refuses empty parts that come back. Of
 * text only the last character waits: what callers read is there at once.
 */
export class LastPart {
  #held: Part | undefined;

  /** The parts to send now. */
  add(part: Part): Part[] {
    const before = this.#held;
    if (!isText(part)) {
      this.#held = part;
      return before ? [before] : [];
    }
    const joins = before !== undefined && isText(before) && before.thought === part.thought;
    const text = joins ? before.text + part.text : part.text;
    const rest = lastCharacter(text);
    const ready = text.slice(0, text.length - rest.length);
    this.#held = { ...part, text: rest };
    return [
      ...(before && !joins ? [before] : []),
      ...(ready === "" ? [] : [{ ...part, text: ready }]),
    ];
  }

  /** The same for a part that can't be divided, since something is said of it as a whole. */
  addWhole(part: Part): Part[] {
    const before = this.#held;
    this.#held = part;
    return before ? [before] : [];
  }

  /** What was kept back; nothing where nothing was said. */
  take(): Part[] {
    const held = this.#held;
    this.#held = undefined;
    return held ? [held] : [];
  }
}

type TextPart = Part & { text: string };

/** A signature is for the text as it is. */
function isText(part: Part): part is TextPart {
  return typeof part.text === "string" && part.thoughtSignature === undefined;
}

function lastCharacter(text: string): string {
  const isPair = /[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text);
  return text.slice(isPair ? -2 : -1);
}

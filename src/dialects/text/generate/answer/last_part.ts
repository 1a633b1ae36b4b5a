type Part = Record<string, unknown>;

/**
 * Holds back the last part of a candidate until more comes, so that the element with the finish
 * reason has a part too: chat sessions of Google's Python and Go libraries forget a turn if one of
 * its elements has no content, and the vendor refuses empty parts. Of text only the last character
 * is held back, so callers see text at once.
 */
export class LastPart {
  #held: Part | undefined;

  /** Returns the parts to send now. */
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

  /**
   * Adds a part that can't be split, since other data refers to all of it. Returns the parts to
   * send now.
   */
  addWhole(part: Part): Part[] {
    const before = this.#held;
    this.#held = part;
    return before ? [before] : [];
  }

  /** Returns the part held back, if any. */
  take(): Part[] {
    const held = this.#held;
    this.#held = undefined;
    return held ? [held] : [];
  }
}

type TextPart = Part & { text: string };

/** A signed text can't be split. */
function isText(part: Part): part is TextPart {
  return typeof part.text === "string" && part.thoughtSignature === undefined;
}

function lastCharacter(text: string): string {
  const isPair = /[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text);
  return text.slice(isPair ? -2 : -1);
}

type Part = Record<string, unknown>;

/**
 * Holds back the last part of a candidate until more comes, so that the element with the finish
 * reason has a part too: chat sessions of Google's Python and Go libraries forget a turn if one of
 * its elements has no content, and the vendor refuses empty parts. Of text only the last character
 * is held back, so callers see text at once. Parallel calls are held back together, since some
 * clients number the calls of each element from 0, and so lose those of other elements.
 */
export class LastPart {
  #held: Part[] = [];

  /**
   * Returns the elements to send now, each with its parts. Text has its own, since Haystack leaves
   * it out beside a thought or a call.
   */
  add(part: Part): Part[][] {
    const before = this.#held.at(-1);
    if (isCall(part) && before !== undefined && isCall(before)) {
      this.#held.push(part);
      return [];
    }
    if (!isText(part)) return this.addWhole(part);
    const joins = before !== undefined && isText(before) && before.thought === part.thought;
    const text = joins ? before.text + part.text : part.text;
    const rest = lastCharacter(text);
    const ready = text.slice(0, text.length - rest.length);
    const earlier = this.addWhole({ ...part, text: rest });
    return [...(joins ? [] : earlier), ...(ready === "" ? [] : [[{ ...part, text: ready }]])];
  }

  /**
   * Adds a part that can't be split, since other data refers to all of it. Returns the elements to
   * send now.
   */
  addWhole(part: Part): Part[][] {
    const before = this.take();
    this.#held = [part];
    return before.length > 0 ? [before] : [];
  }

  /** Returns the parts held back, if any. */
  take(): Part[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }
}

type TextPart = Part & { text: string };

/** A signed text can't be split. */
function isText(part: Part): part is TextPart {
  return typeof part.text === "string" && part.thoughtSignature === undefined;
}

function isCall(part: Part): boolean {
  return part.functionCall !== undefined;
}

function lastCharacter(text: string): string {
  const isPair = /[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text);
  return text.slice(isPair ? -2 : -1);
}

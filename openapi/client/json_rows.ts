/**
 * Yields the elements of a JSON array, each as soon as it is complete, so that arrays of any size
 * can be read. Throws a SyntaxError if the text is no array or ends before the array does.
 */
export async function* readRows(text: AsyncIterable<string>): AsyncGenerator<unknown, void> {
  const scanner = new RowScanner();
  for await (const piece of text) yield* scanner.take(piece);
  if (!scanner.ended) throw new SyntaxError("The array ended before it was whole");
}

const [quote, backslash, comma, open, close] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d];
const [braceOpen, braceClose] = [0x7b, 0x7d];

/** Tracks strings and nesting, to cut the text at the commas between elements and at the end. */
class RowScanner {
  ended = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Text so far of the current element. */
  #row = "";

  *take(piece: string): Generator<unknown, void> {
    let start = 0;
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (code === backslash) this.#escaped = true;
        else if (code === quote) this.#inString = false;
        continue;
      }
      if (code === quote) this.#inString = true;
      else if (code === open || code === braceOpen) {
        if (this.#depth++ === 0) {
          if (code !== open) throw new SyntaxError("Expected an array");
          start = at + 1;
        }
      } else if (code === close || code === braceClose) {
        if (--this.#depth > 0) continue;
        this.ended = true;
        yield* this.#cut(piece.slice(start, at));
        return;
      } else if (code === comma && this.#depth === 1) {
        yield* this.#cut(piece.slice(start, at));
        start = at + 1;
      }
    }
    if (this.#depth > 0) this.#row += piece.slice(start);
  }

  *#cut(end: string): Generator<unknown, void> {
    const text = this.#row + end;
    this.#row = "";
    if (text.trim() !== "") yield JSON.parse(text);
  }
}

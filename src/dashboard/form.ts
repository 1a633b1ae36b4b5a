import type { Context } from "hono";
import { isoDay, readTime } from "./format.ts";

export const usualFormBytes = 64 * 1024;

/** A form as a browser sends it. Fields are texts, read without the blanks around them. */
export class Form {
  readonly #fields: URLSearchParams;

  constructor(fields: URLSearchParams) {
    this.#fields = fields;
  }

  text(name: string): string {
    return this.#fields.get(name)?.trim() ?? "";
  }

  all(name: string): string[] {
    return this.#fields.getAll(name).map((one) => one.trim()).filter((one) => one !== "");
  }

  /** Returns `{ [name]: value }`, or `{}` if the field is empty. */
  filled(name: string): Record<string, string> {
    const text = this.text(name);
    return text === "" ? {} : { [name]: text };
  }

  /** The same, but keeps the blanks around it: names of end users may differ only in these. */
  filledExactly(name: string): Record<string, string> {
    return this.text(name) === "" ? {} : { [name]: this.#fields.get(name)! };
  }

  /** Returns a day as the API takes it, `2026-11-21`. */
  day(name: string): string {
    return isoDay(this.text(name));
  }

  /**
   * Returns `start_date` and `end_date` as the API takes them. The form's end is the last day, the
   * API's end is exclusive. A text that isn't a day is passed on for the contract to refuse.
   */
  span(): Record<string, string> {
    const [start, end] = [this.day("start_date"), this.day("end_date")];
    const last = readTime(end, { hasTime: false });
    const next = last ? new Date(last.getTime() + 86_400_000).toISOString() : end;
    return {
      ...(start === "" ? {} : { start_date: `${start}T00:00:00Z` }),
      ...(end === "" ? {} : { end_date: next }),
    };
  }

  /** Returns the values as they were typed, to show the form again. */
  values(): Record<string, string[]> {
    const fields = Map.groupBy(this.#fields, ([name]) => name);
    return Object.fromEntries(
      Array.from(fields, ([name, entries]) => [name, entries.map(([, text]) => text)]),
    );
  }
}

/** Reads a request's form; undefined if its body isn't a form, is too large or breaks off. */
export async function readForm(
  context: Context,
  maxBytes = usualFormBytes,
): Promise<Form | undefined> {
  const type = context.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return undefined;
  try {
    const text = await readText(context.req.raw.body, maxBytes);
    return text === undefined ? undefined : new Form(new URLSearchParams(text));
  } catch {
    // The browser left, or sent what isn't HTTP: no failure of ours, and nobody reads the answer.
    return undefined;
  }
}

/** Whether a missing form was too large: browsers always send a Content-Length. */
export function isTooLarge(context: Context, maxBytes: number): boolean {
  return Number(context.req.header("content-length")) > maxBytes;
}

async function readText(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

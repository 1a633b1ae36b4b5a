import { isRecord } from "./json.ts";

/**
 * The words of a request in any dialect, to count them where the vendor doesn't: every string of
 * the body that isn't media. Iterative, since callers may nest as deep as they like.
 */
export function promptText(body: unknown): string {
  const texts: string[] = [];
  const stack: unknown[] = [body];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === "string") {
      if (!isMedia(value)) texts.push(value);
    } else if (Array.isArray(value)) {
      for (const one of value) stack.push(one);
    } else if (isRecord(value)) {
      for (const one of Object.values(value)) stack.push(one);
    }
  }
  return texts.join("\n");
}

/** Addresses and base64 data are billed as media, not as words. */
function isMedia(value: string): boolean {
  // With words behind it, an address is where a prompt begins.
  return /^(data:|https?:\/\/)\S*$/.test(value) ||
    (value.length > 1000 && !/\s/.test(value.slice(0, 1000)) &&
      /^[A-Za-z0-9+/_=-]+$/.test(value.slice(0, 1000)));
}

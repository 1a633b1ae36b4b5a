import type { Citation } from "../../../kernel/canonical.ts";
import { asString, isRecord } from "../../../kernel/json.ts";

/**
 * Reads a citation of a web address. Undefined for citations of the caller's own documents (by page
 * or character), which have no form in other dialects.
 */
export function readCitation(value: unknown): Citation | undefined {
  if (!isRecord(value)) return undefined;
  const url = asString(value.url) ?? asString(value.source);
  if (url === undefined || !/^https?:/i.test(url)) return undefined;
  return { url, title: asString(value.title), start: undefined, end: undefined };
}

export function writeCitation(citation: Citation): Record<string, unknown> {
  return {
    type: "web_search_result_location",
    url: citation.url,
    // The AI SDK (6.0.326) refuses the published null, and with it the whole answer.
    title: citation.title ?? citation.url,
    cited_text: "",
    encrypted_index: "",
  };
}

/**
 * Whether a text of an earlier answer that the caller sends back cites sources that only another
 * vendor found.
 */
export function citesUnsealed(block: unknown): boolean {
  return isRecord(block) && block.type === "text" && Array.isArray(block.citations) &&
    block.citations.some((one) => isRecord(one) && one.encrypted_index === "");
}

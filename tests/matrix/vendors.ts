import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Label } from "../../demo/simulators.ts";

/** A vendor as the matrix calls it. */
export interface MatrixVendor {
  label: Label;
  /** Can see, reason, call tools and answer in JSON. */
  model: string;
  /** Refuses reasoning and tool calls that come back without what it signed; else as `model`. */
  strictModel: string;
  /** What the vendor itself speaks, the preferred one first. */
  dialects: readonly DialectName[];
  /** Which of them callers of others are translated to; absent: the first. */
  translateTo?: DialectName;
  /** Its reasoning can be read, in its own first dialect. */
  showsReasoning: boolean;
}

export const vendors: readonly MatrixVendor[] = [
  {
    label: "vendor-a",
    model: "deepseek-ai/DeepSeek-V4-Flash",
    strictModel: "deepseek-ai/DeepSeek-V4-Flash",
    dialects: ["chat", "responses"],
    showsReasoning: true,
  },
  {
    label: "vendor-b",
    model: "gpt-6-luna",
    strictModel: "gpt-6-luna",
    dialects: ["chat", "responses"],
    translateTo: "responses",
    showsReasoning: false,
  },
  {
    label: "vendor-c",
    model: "claude-haiku-5-5",
    strictModel: "claude-haiku-4-5",
    dialects: ["messages"],
    showsReasoning: true,
  },
  {
    label: "vendor-d",
    model: "gemini-3.8-flash",
    strictModel: "gemini-3.8-flash",
    dialects: ["generate"],
    showsReasoning: true,
  },
  {
    label: "vendor-e",
    model: "gemini-3.8-flash",
    strictModel: "gemini-4-argon",
    dialects: ["generate"],
    showsReasoning: true,
  },
  {
    label: "vendor-f",
    model: "openai/gpt-5-mini",
    strictModel: "openai/gpt-5-mini",
    dialects: ["chat", "responses", "messages"],
    showsReasoning: true,
  },
  {
    label: "vendor-g",
    model: "grok-4.3",
    strictModel: "grok-4.3",
    dialects: ["chat", "responses"],
    showsReasoning: true,
  },
];

/** The dialect in which the service calls this vendor for a caller of `dialect`. */
export function upstreamDialect(
  vendor: Pick<MatrixVendor, "dialects" | "translateTo">,
  dialect: DialectName,
): DialectName {
  if (vendor.dialects.includes(dialect)) return dialect;
  return vendor.translateTo ?? vendor.dialects[0]!;
}

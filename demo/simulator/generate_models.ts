/** A model of the generate vendor. */
export interface GenerateModel {
  id: string;
  displayName: string;
  /** 2.5, 3.1, 4 …: decides how thinking is requested and what is enforced. */
  generation: number;
  /** The lowest thinking budget; null if the model accepts no budget. */
  minBudget: number | null;
  /** Thinking levels that the model accepts, if any. */
  levels: readonly string[];
  /** Function calls come with an id. */
  hasCallIds: boolean;
  inputTokens: number;
  outputTokens: number;
}

const ALL_LEVELS = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];

function row(
  id: string,
  generation: number,
  minBudget: number | null,
  levels: readonly string[],
): GenerateModel {
  return {
    id,
    displayName: id.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(
      " ",
    ),
    generation,
    minBudget,
    levels,
    hasCallIds: generation >= 3.5,
    inputTokens: 1_048_576,
    outputTokens: 65_536,
  };
}

export const GENERATE_MODELS: readonly GenerateModel[] = [
  row("gemini-4-argon", 4, null, ["LOW", "MEDIUM", "HIGH"]),
  row("gemini-3.8-flash", 3.8, 0, ["LOW", "MEDIUM", "HIGH"]),
  row("gemini-3.7-flash", 3.7, 0, ["LOW", "MEDIUM", "HIGH"]),
  row("gemini-3.6-flash", 3.6, 0, ALL_LEVELS),
  row("gemini-3.5-flash-lite", 3.5, 0, ALL_LEVELS),
  row("gemini-3.1-pro-preview", 3.1, 128, ["LOW", "MEDIUM", "HIGH"]),
  row("gemini-2.5-pro", 2.5, 128, []),
  row("gemini-2.5-flash", 2.5, 0, []),
  row("gemini-2.5-flash-lite", 2.5, 0, []),
];

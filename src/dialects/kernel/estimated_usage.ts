import type { Usage } from "../../shared/usage.ts";
import type { CanonicalAnswer, CanonicalEvent } from "./canonical.ts";

/**
 * Usage for a caller whose vendor reports none: the prompt as counted beforehand, and a quarter
 * token per UTF-16 unit of output text. Media doesn't count. Whole and streamed answers get the
 * same numbers.
 */
export class EstimatedUsage {
  readonly #inputTokens: number;
  readonly #media = new Set<number>();
  #chars = 0;

  constructor(inputTokens: number) {
    this.#inputTokens = inputTokens;
  }

  listen(event: CanonicalEvent): void {
    if (event.type === "block-start" && event.content.kind === "media") {
      this.#media.add(event.block);
    }
    if (event.type === "block-delta" && !this.#media.has(event.block)) {
      this.#chars += event.text.length;
    }
  }

  get usage(): Usage {
    return estimated(this.#inputTokens, this.#chars);
  }
}

export function estimatedUsage(answer: CanonicalAnswer, inputTokens: number): Usage {
  const parts = answer.choices.flatMap((choice) => choice.parts);
  const texts = parts.filter(({ kind }) => kind !== "media").map(({ text }) => text.length);
  return estimated(inputTokens, texts.reduce((sum, length) => sum + length, 0));
}

function estimated(input: number, chars: number): Usage {
  return { input, output: Math.ceil(chars / 4) };
}

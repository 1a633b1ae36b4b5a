import type { Usage } from "../../shared/usage.ts";
import type { CanonicalAnswer, CanonicalEvent } from "./canonical.ts";

/**
 * The usage that a caller's stream ends with: the vendor's, or, for what it doesn't report, the
 * prompt as counted beforehand and a quarter token per UTF-16 unit of output text. Media doesn't
 * count. Whole and streamed answers get the same numbers.
 */
export class ShownUsage {
  /** The vendor's, so far. */
  reported: Usage | undefined;
  readonly #inputTokens: number;
  readonly #media = new Set<number>();
  #chars = 0;

  constructor(inputTokens: number) {
    this.#inputTokens = inputTokens;
  }

  /** Takes every event of the answer. */
  listen(event: CanonicalEvent): void {
    if (event.type === "usage") this.reported = event.usage;
    if (event.type === "block-start" && event.content.kind === "media") {
      this.#media.add(event.block);
    }
    if (event.type === "block-delta" && !this.#media.has(event.block)) {
      this.#chars += event.text.length;
    }
  }

  get final(): Usage {
    return completed(this.reported, estimated(this.#inputTokens, this.#chars));
  }
}

/** Returns the usage to show for a whole answer. */
export function shownUsage(answer: CanonicalAnswer, inputTokens: number): Usage {
  if (answer.usage && !answer.usage.unreported) return answer.usage;
  const parts = answer.choices.flatMap((choice) => choice.parts);
  const texts = parts.filter(({ kind }) => kind !== "media").map(({ text }) => text.length);
  const chars = texts.reduce((sum, length) => sum + length, 0);
  return completed(answer.usage, estimated(inputTokens, chars));
}

/** Takes from the estimate what the vendor doesn't report. */
function completed(reported: Usage | undefined, estimate: Usage): Usage {
  if (!reported) return estimate;
  const { unreported, ...usage } = reported;
  if (!unreported) return reported;
  return { ...usage, [unreported]: Math.max(usage[unreported], estimate[unreported]) };
}

function estimated(input: number, chars: number): Usage {
  return { input, output: Math.ceil(chars / 4) };
}

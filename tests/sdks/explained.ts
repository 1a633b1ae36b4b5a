import type { Lane } from "./clients.ts";
import type { Feature } from "./judge.ts";

/** A failing cell that is the client's or the vendor's own rule, with its sentence. */
interface Explanation {
  readonly client: string;
  readonly lane?: Lane;
  readonly model?: string;
  readonly features: readonly Feature[];
  readonly why: string;
}

const explanations: readonly Explanation[] = [];

export function explained(
  client: string,
  lane: Lane,
  model: string,
  feature: Feature,
): string | undefined {
  return explanations.find((one) =>
    one.client === client && (one.lane ?? lane) === lane && (one.model ?? model) === model &&
    one.features.includes(feature)
  )?.why;
}

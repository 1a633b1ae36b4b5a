import { flash, type Lane } from "./clients.ts";
import type { Feature } from "./judge.ts";

/** Features that fail by a library's or a vendor's own rule; the page has the sentence. */
export interface Explanation {
  readonly client: string;
  readonly lane: Lane;
  /** Absent: on every model. */
  readonly model?: string;
  readonly features: readonly Feature[];
  readonly why: string;
}

const langchainOnGemini: Pick<Explanation, "client" | "lane" | "model"> = {
  ...{ client: "langchain-js", lane: "generate", model: flash },
};

export const explanations: readonly Explanation[] = [
  {
    ...langchainOnGemini,
    features: ["tools"],
    why: "it sends each result of parallel calls as a turn of its own, and Google wants those of " +
      "one turn together",
  },
  {
    ...langchainOnGemini,
    features: ["object"],
    why:
      "it sends JSON Schema as `responseSchema`, in which Google takes no list of types, so no " +
      "`nullable()`",
  },
  {
    ...{ client: "semantic-kernel", lane: "generate", model: flash },
    features: ["tools"],
    why:
      "it writes a function's name with `-` into the call that it sends back and with `__` into " +
      "the result, and Google wants one name",
  },
];

/** The explanations of a cell. */
export function explanationsOf(client: string, lane: Lane, model: string): Explanation[] {
  return explanations.filter((one) =>
    one.client === client && one.lane === lane && (one.model ?? model) === model
  );
}

/** As the page lists it. */
export function exceptionLine({ client, lane, model, features, why }: Explanation): string {
  const where = model === undefined ? lane : `${lane}, \`${model}\``;
  return `- ${client} (${where}), ${features.join(", ")}: ${why}.`;
}

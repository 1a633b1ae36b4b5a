import { flash, type Lane } from "./clients.ts";
import type { Feature } from "./judge.ts";

/** Features that fail because of a rule of the library or the vendor; the page has the sentence. */
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
    why:
      "it sends the result of each parallel call as a separate turn, but Google requires them in " +
      "one turn",
  },
  {
    ...langchainOnGemini,
    features: ["object"],
    why:
      "it sends JSON Schema as `responseSchema`, in which Google doesn't accept a list of types, so " +
      "`nullable()` fails",
  },
  {
    ...{ client: "semantic-kernel", lane: "generate", model: flash },
    features: ["tools"],
    why: "it writes a function's name with `-` into the call that it returns and with `__` into " +
      "the result, but Google requires the same name",
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
